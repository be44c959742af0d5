/* Set-up of ports, which packets do not need: structures, and functions without definitions. */
#ifndef SLOWPATH_DPDK_ETH_PORTS_H
#define SLOWPATH_DPDK_ETH_PORTS_H
#include <rte_dev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#define RTE_ETH_RX_OFFLOAD_VLAN_STRIP RTE_BIT64(0)
#define RTE_ETH_RX_OFFLOAD_IPV4_CKSUM RTE_BIT64(1)
#define RTE_ETH_RX_OFFLOAD_UDP_CKSUM RTE_BIT64(2)
#define RTE_ETH_RX_OFFLOAD_TCP_CKSUM RTE_BIT64(3)
#define RTE_ETH_RX_OFFLOAD_TCP_LRO RTE_BIT64(4)
#define RTE_ETH_RX_OFFLOAD_VLAN_FILTER RTE_BIT64(9)
#define RTE_ETH_RX_OFFLOAD_VLAN_EXTEND RTE_BIT64(10)
#define RTE_ETH_RX_OFFLOAD_SCATTER RTE_BIT64(13)
#define RTE_ETH_RX_OFFLOAD_TIMESTAMP RTE_BIT64(14)
#define RTE_ETH_RX_OFFLOAD_RSS_HASH RTE_BIT64(19)
#define RTE_ETH_RX_OFFLOAD_CHECKSUM \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
#define RTE_ETH_TX_OFFLOAD_VLAN_INSERT RTE_BIT64(0)
#define RTE_ETH_TX_OFFLOAD_IPV4_CKSUM RTE_BIT64(1)
#define RTE_ETH_TX_OFFLOAD_UDP_CKSUM RTE_BIT64(2)
#define RTE_ETH_TX_OFFLOAD_TCP_CKSUM RTE_BIT64(3)
#define RTE_ETH_TX_OFFLOAD_SCTP_CKSUM RTE_BIT64(4)
#define RTE_ETH_TX_OFFLOAD_TCP_TSO RTE_BIT64(5)
#define RTE_ETH_TX_OFFLOAD_MULTI_SEGS RTE_BIT64(15)
#define RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE RTE_BIT64(16)
#define RTE_ETH_RSS_IPV4 RTE_BIT64(2)
#define RTE_ETH_RSS_NONFRAG_IPV4_TCP RTE_BIT64(4)
#define RTE_ETH_RSS_NONFRAG_IPV4_UDP RTE_BIT64(5)
#define RTE_ETH_RSS_IPV6 RTE_BIT64(8)
#define RTE_ETH_RSS_NONFRAG_IPV6_TCP RTE_BIT64(10)
#define RTE_ETH_RSS_NONFRAG_IPV6_UDP RTE_BIT64(11)
#define RTE_ETH_RSS_IP (RTE_ETH_RSS_IPV4 | RTE_BIT64(3) | RTE_BIT64(7) | RTE_ETH_RSS_IPV6 | RTE_BIT64(9) | RTE_BIT64(13) | RTE_BIT64(15))
#define RTE_ETH_RSS_TCP (RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_BIT64(16))
#define RTE_ETH_RSS_UDP (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_BIT64(17))
#define RTE_ETH_LINK_DOWN 0
#define RTE_ETH_LINK_UP 1
#define RTE_ETH_LINK_MAX_STR_LEN 40
#define RTE_ETH_LINK_HALF_DUPLEX 0
#define RTE_ETH_LINK_FULL_DUPLEX 1
#define RTE_ETH_NAME_MAX_LEN 64
#define RTE_ETHDEV_QUEUE_STAT_CNTRS 16

enum rte_eth_rx_mq_mode { RTE_ETH_MQ_RX_NONE = 0, RTE_ETH_MQ_RX_RSS = 1 };
enum rte_eth_tx_mq_mode { RTE_ETH_MQ_TX_NONE = 0 };

struct rte_eth_thresh {
	uint8_t pthresh, hthresh, wthresh;
};
struct rte_eth_rss_conf {
	uint8_t *rss_key;
	uint8_t rss_key_len;
	uint64_t rss_hf;
};
struct rte_eth_rxmode {
	enum rte_eth_rx_mq_mode mq_mode;
	uint32_t mtu, max_lro_pkt_size;
	uint64_t offloads;
};
struct rte_eth_txmode {
	enum rte_eth_tx_mq_mode mq_mode;
	uint64_t offloads;
	uint16_t pvid;
};
struct rte_eth_intr_conf {
	uint32_t lsc : 1, rxq : 1, rmv : 1;
};
struct rte_eth_conf {
	uint32_t link_speeds;
	struct rte_eth_rxmode rxmode;
	struct rte_eth_txmode txmode;
	uint32_t lpbk_mode;
	struct {
		struct rte_eth_rss_conf rss_conf;
	} rx_adv_conf;
	uint32_t dcb_capability_en;
	struct rte_eth_intr_conf intr_conf;
};
struct rte_eth_rxconf {
	struct rte_eth_thresh rx_thresh;
	uint16_t rx_free_thresh;
	uint8_t rx_drop_en, rx_deferred_start;
	uint64_t offloads;
};
struct rte_eth_txconf {
	struct rte_eth_thresh tx_thresh;
	uint16_t tx_rs_thresh, tx_free_thresh;
	uint8_t tx_deferred_start;
	uint64_t offloads;
};
struct rte_eth_desc_lim {
	uint16_t nb_max, nb_min, nb_align, nb_seg_max, nb_mtu_seg_max;
};
struct rte_eth_dev_info {
	struct rte_device *device;
	const char *driver_name;
	unsigned if_index;
	uint16_t min_mtu, max_mtu;
	uint32_t min_rx_bufsize, max_rx_pktlen, max_lro_pkt_size;
	uint16_t max_rx_queues, max_tx_queues;
	uint32_t max_mac_addrs;
	uint64_t rx_offload_capa, tx_offload_capa, rx_queue_offload_capa, tx_queue_offload_capa;
	uint16_t reta_size;
	uint8_t hash_key_size;
	uint64_t flow_type_rss_offloads;
	struct rte_eth_rxconf default_rxconf;
	struct rte_eth_txconf default_txconf;
	struct rte_eth_desc_lim rx_desc_lim, tx_desc_lim;
	uint32_t speed_capa;
	uint16_t nb_rx_queues, nb_tx_queues;
};
struct rte_eth_link {
	uint32_t link_speed;
	uint16_t link_duplex : 1, link_autoneg : 1, link_status : 1;
};
struct rte_eth_stats {
	uint64_t ipackets, opackets, ibytes, obytes, imissed, ierrors, oerrors, rx_nombuf;
	uint64_t q_ipackets[RTE_ETHDEV_QUEUE_STAT_CNTRS], q_opackets[RTE_ETHDEV_QUEUE_STAT_CNTRS];
	uint64_t q_ibytes[RTE_ETHDEV_QUEUE_STAT_CNTRS], q_obytes[RTE_ETHDEV_QUEUE_STAT_CNTRS];
	uint64_t q_errors[RTE_ETHDEV_QUEUE_STAT_CNTRS];
};

/* Number of ports; even, as many examples pair ports. */
#ifndef SLOWPATH_DEVICES
#define SLOWPATH_DEVICES 2
#endif
SLOWPATH_INLINE uint16_t rte_eth_dev_count_avail(void) { return SLOWPATH_DEVICES; }
SLOWPATH_INLINE uint64_t rte_eth_find_next(uint16_t port) { return port < SLOWPATH_DEVICES ? port : RTE_MAX_ETHPORTS; }
SLOWPATH_INLINE int rte_eth_dev_is_valid_port(uint16_t port) { return port < SLOWPATH_DEVICES; }
SLOWPATH_INLINE int rte_eth_dev_socket_id(uint16_t port) { return rte_eth_dev_is_valid_port(port) ? 0 : -1; }
SLOWPATH_C int rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info);
SLOWPATH_C int rte_eth_dev_configure(uint16_t port, uint16_t receiving, uint16_t sending,
				     const struct rte_eth_conf *asked);
SLOWPATH_C int rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t port, uint16_t *receiving, uint16_t *sending);
SLOWPATH_C int rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t size, unsigned socket,
				      const struct rte_eth_rxconf *asked, struct rte_mempool *pool);
SLOWPATH_C int rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t size, unsigned socket,
				      const struct rte_eth_txconf *asked);
SLOWPATH_C int rte_eth_dev_start(uint16_t port);
SLOWPATH_C int rte_eth_dev_stop(uint16_t port);
SLOWPATH_C int rte_eth_dev_close(uint16_t port);
SLOWPATH_C int rte_eth_dev_set_mtu(uint16_t port, uint16_t mtu);
SLOWPATH_C int rte_eth_promiscuous_enable(uint16_t port);
SLOWPATH_C int rte_eth_allmulticast_enable(uint16_t port);
SLOWPATH_C int rte_eth_macaddr_get(uint16_t port, struct rte_ether_addr *address);
SLOWPATH_C int rte_eth_link_get(uint16_t port, struct rte_eth_link *link);
SLOWPATH_C int rte_eth_link_get_nowait(uint16_t port, struct rte_eth_link *link);
SLOWPATH_C int rte_eth_link_to_str(char *text, size_t size, const struct rte_eth_link *link);
SLOWPATH_C int rte_eth_dev_set_ptypes(uint16_t port, uint32_t wanted, uint32_t *set, unsigned count);
SLOWPATH_C int rte_eth_dev_get_supported_ptypes(uint16_t port, uint32_t wanted, uint32_t *known, int count);
SLOWPATH_C int rte_eth_dev_get_name_by_port(uint16_t port, char *name);
SLOWPATH_C int rte_eth_stats_get(uint16_t port, struct rte_eth_stats *counts);
SLOWPATH_C int rte_eth_stats_reset(uint16_t port);
SLOWPATH_C const char *rte_eth_link_speed_to_str(uint32_t speed);
SLOWPATH_C int rte_eth_dev_mac_addr_add(uint16_t port, struct rte_ether_addr *address, uint32_t pool);
SLOWPATH_C int rte_eth_read_clock(uint16_t port, uint64_t *clock);

enum rte_eth_event_type { RTE_ETH_EVENT_UNKNOWN, RTE_ETH_EVENT_INTR_LSC };
typedef int (*rte_eth_dev_cb_fn)(uint16_t port, enum rte_eth_event_type event, void *given, void *result);
SLOWPATH_C int rte_eth_dev_callback_register(uint16_t port, enum rte_eth_event_type event, rte_eth_dev_cb_fn called,
					     void *given);
/* Callbacks for packets; slowpath recognises them by the registration functions. */
struct rte_mbuf;
struct rte_eth_rxtx_callback;
typedef uint16_t (*rte_rx_callback_fn)(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t count,
				       uint16_t most, void *given);
typedef uint16_t (*rte_tx_callback_fn)(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t count,
				       void *given);
SLOWPATH_C const struct rte_eth_rxtx_callback *rte_eth_add_rx_callback(uint16_t port, uint16_t queue,
								      rte_rx_callback_fn called, void *given);
SLOWPATH_C const struct rte_eth_rxtx_callback *rte_eth_add_tx_callback(uint16_t port, uint16_t queue,
								      rte_tx_callback_fn called, void *given);
#define RTE_ETH_FOREACH_DEV(port) \
	for (port = (uint16_t)rte_eth_find_next(0); port < RTE_MAX_ETHPORTS; port = (uint16_t)rte_eth_find_next((uint16_t)(port + 1)))
#endif
