// Frames of IEEE 802.11: data to Ethernet, all else by type.
#include <click/config.h>
#include <click/packet_anno.hh>
#include <click/element.hh>
#include <clicknet/llc.h>
#include <clicknet/wifi.h>

class Radio : public Element {
  public:
    const char *class_name() const { return "Radio"; }
    const char *port_count() const { return "1/3"; }
    void push(int, Packet *p) {
        const click_wifi *frame = (const click_wifi *) p->data();
        const click_llc *link = (const click_llc *) (frame + 1);
        if (p->length() < sizeof(click_wifi) + 8) {
            p->kill();
            return;
        }
        WIFI_EXTRA_ANNO(p)->magic = WIFI_EXTRA_MAGIC;
        int type = frame->i_fc[0] & WIFI_FC0_TYPE_MASK;
        if (type != WIFI_FC0_TYPE_DATA) {
            output(type == WIFI_FC0_TYPE_MGT ? 1 : 2).push(p);
            return;
        }
        if (link->llc_dsap != LLC_SNAP_LSAP || link->llc_control != LLC_UI) {
            p->kill();
            return;
        }
        bool down = (frame->i_fc[1] & WIFI_FC1_DIR_MASK) == WIFI_FC1_DIR_FROMDS;
        uint8_t header[14];
        memcpy(header, down ? frame->i_addr1 : frame->i_addr3, 6);
        memcpy(header + 6, down ? frame->i_addr3 : frame->i_addr2, 6);
        memcpy(header + 12, &link->llc_un.type_snap.ether_type, 2);
        p->pull(sizeof(click_wifi) + 8 - 14);
        memcpy((uint8_t *) p->data(), header, 14);
        _bytes += p->length();
        output(0).push(p);
    }

  private:
    uint64_t _bytes = 0;
};

EXPORT_ELEMENT(Radio)
