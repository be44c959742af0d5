// Tables that are full, in C++: a hash of ten entries and four prefixes.
#include <rte_hash.h>
#include <rte_lpm.h>
#include <rte_mbuf.h>

static struct rte_hash *table;
static struct rte_lpm *routes;
static uint64_t seen[10];

RTE_INIT(start) {
    struct rte_hash_parameters asked = {};
    struct rte_lpm_config config = {};
    asked.name = "few";
    asked.entries = 10;
    asked.key_len = 5;
    config.max_rules = 4;
    table = rte_hash_create(&asked);
    routes = rte_lpm_create("few", SOCKET_ID_ANY, &config);
}

extern "C" int touch(struct rte_mbuf *m) {
    const uint8_t *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
    uint32_t hop = 0, ip;
    int32_t at;
    memcpy(&ip, bytes + 6, 4);
    switch (bytes[0]) {
    case 0: at = rte_hash_add_key(table, bytes + 1); break;
    case 1: at = rte_hash_del_key(table, bytes + 1); break;
    case 2: at = rte_hash_lookup(table, bytes + 1); break;
    case 3: return rte_lpm_add(routes, ip, bytes[1], bytes[2]);
    case 4: return rte_lpm_delete(routes, ip, bytes[1]);
    default: return rte_lpm_lookup(routes, ip, &hop) == 0 ? (int) hop : -1;
    }
    if (at >= 10)
        return -1000;
    if (at >= 0)
        seen[at]++;
    return at < 0 ? at : rte_hash_count(table);
}
