"""Generates random XDP programs in C, with statements that are typical of packet processing.

Each statement is of a random kind in `KINDS`, by weights. Clara (SOSP 2021) uses YarpGen with the
distributions of Click elements; here weights are fitted to the instructions of real programs
(`guided.py`).
"""

# ruff: noqa: PLR2004, S311 - shares of what is chosen at random are their own names
import random
from collections.abc import Callable, Mapping

_HEAD = """#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/in.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
struct key { __u32 a, b; __u16 c, d; __u8 e, f[3]; };
struct key6 { __u8 a[16], b[16]; __u16 c, d; __u32 e; };
struct entry { __u64 packets, bytes; __u32 last, flags; __u16 port; __u8 mac[6]; };
#define MAP(name, kind, k, v) struct { __uint(type, BPF_MAP_TYPE_##kind); __type(key, k); \\
    __type(value, v); __uint(max_entries, 1024); } name SEC(".maps")
MAP(flows, HASH, struct key, struct entry);
MAP(flows6, LRU_HASH, struct key6, struct entry);
MAP(counts, PERCPU_ARRAY, __u32, struct entry);
MAP(config, ARRAY, __u32, struct entry);
MAP(ports, HASH, __u16, __u32);
struct big { __u64 slots[64]; __u32 more[100]; };
MAP(bigs, ARRAY, __u32, struct big);
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
volatile const __u32 limit = 64;
__u64 total;
char _license[] SEC("license") = "GPL";
static __always_inline __u16 fold(__u64 sum) {
    sum = (sum & 0xffff) + (sum >> 16); sum = (sum & 0xffff) + (sum >> 16); return ~sum; }
static __always_inline __u32 mix(__u32 a, __u32 b, __u32 c) {
    a ^= c; a -= (c << 14) | (c >> 18); b ^= a; b -= (a << 11) | (a >> 21);
    c ^= b; c -= (b << 25) | (b >> 7); return c; }
static __attribute__((noinline)) __u32 apart(__u32 a, __u32 b) {
    a ^= b >> 3; if (a > 77) a += b; return a * 5; }
static __attribute__((noinline)) __u32 kept(__u32 a, __u32 b, __u32 c) {
    __u32 k = a; struct entry *e = bpf_map_lookup_elem(&config, &k);
    if (!e) return b; k = a + 1; struct entry *f = bpf_map_lookup_elem(&config, &k);
    return f ? e->last + f->flags + c : a; }
static __attribute__((noinline)) __u32 filled(struct key *k, struct entry *e) {
    k->a += k->b; if (e) k->d ^= e->port; return k->c + k->e; }
static __attribute__((noinline)) __u16 summed(struct iphdr *ip, void *end) {
    if ((void *)(ip + 1) > end) return 0; return ip->id + ip->tot_len; }
"""


class _Writer:
    """State of the generator while it writes a C program: names in scope, nesting, randomness."""

    def __init__(self, rng: random.Random, weights: Mapping[str, float]) -> None:
        self.rng = rng
        self.kinds = list(weights)
        self.weights = list(weights.values())
        self.numbers = ["x0", "x1"]  # 32-bit variables
        self.wide = ["w0"]  # 64-bit variables
        self.entries = list[str]()  # pointers to map elements
        self.level = "eth"
        self.depth = 0
        self.made = 2

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def number(self) -> str:
        return self.rng.choice(self.numbers)

    def constant(self) -> str:
        top = self.rng.choice((8, 32, 256, 256, 65536, 1 << 20, 1 << 32))
        return f"{self.rng.randrange(top)}u"

    def operand(self) -> str:
        return self.number() if self.rng.random() < 0.5 else self.constant()

    def field(self) -> str:
        fields = {
            "eth": [
                "bpf_ntohs(eth->h_proto)",
                "eth->h_proto",
                "eth->h_dest[5]",
                "eth->h_source[0]",
            ],
            "ip": [
                "ip->protocol",
                "ip->ttl",
                "bpf_ntohs(ip->tot_len)",
                "ip->saddr",
                "ip->daddr",
                "bpf_ntohl(ip->daddr)",
                "ip->tos",
                "ip->id",
                "ip->frag_off & bpf_htons(0x3fff)",
                "ip->ihl",
            ],
            "ip6": [
                "ip6->nexthdr",
                "ip6->hop_limit",
                "bpf_ntohs(ip6->payload_len)",
                "ip6->saddr.s6_addr32[3]",
                "ip6->daddr.s6_addr32[0]",
                "ip6->priority",
            ],
            "udp": ["udp->dest", "bpf_ntohs(udp->source)", "udp->source", "udp->len"],
            "tcp": [
                "tcp->dest",
                "bpf_ntohs(tcp->source)",
                "tcp->syn",
                "tcp->doff",
                "tcp->seq",
                "tcp->window",
                "tcp->ack && !tcp->syn",
            ],
        }
        known = ["eth", self.level, self.level]
        if self.level in ("udp", "tcp"):
            known.append("ip")
        return self.rng.choice(fields[self.rng.choice(known)])

    def expression(self) -> str:
        how = self.rng.randrange(8)
        one, other = self.number(), self.operand()
        if how < 3:
            return f"{one} {self.pick('+', '-', '&', '|', '^', '+')} {other}"
        if how == 3:
            return f"{one} {self.pick('<<', '>>')} {self.rng.randrange(1, 24)}"
        if how == 4:
            return (
                f"({one} >> {self.rng.randrange(1, 16)}) & {self.pick('1', '15', '255', '0xfff')}"
            )
        if how == 5:
            factor = self.rng.choice(("200", "3", "77", "2654435761u", "0x85ebca6bu", "65599"))
            return f"{one} * {factor}"
        return f"({one} {self.pick('&', '^', '+')} {other}) {self.pick('|', '+', '^')} {self.operand()}"

    def condition(self) -> str:
        left = self.field() if self.rng.random() < 0.6 else self.number()
        sign = self.pick("==", "!=", "==", ">", "<", ">=")
        text = f"{left} {sign} {self.operand()}"
        if self.rng.random() < 0.25:
            text += (
                f" {self.pick('&&', '||')} {self.number()} {self.pick('<', '==')} {self.operand()}"
            )
        return text

    def inside(self, most: int = 3) -> str:
        """Return up to `most` random C statements that can stand within another statement."""
        saved = list(self.numbers), list(self.wide), list(self.entries), self.level
        self.depth += 1
        text = "".join(self.statement() for _ in range(self.rng.randint(1, most)))
        self.depth -= 1
        self.numbers, self.wide, self.entries, self.level = saved
        return text

    def statement(self) -> str:
        while True:
            [kind] = self.rng.choices(self.kinds, self.weights)
            if self.depth < 3 or kind in ("read", "compute", "count", "leave"):
                return KINDS[kind](self)

    def known(self) -> str:
        """Return C code that sets variables to packet data or, with equal probability, no code."""
        return self.pick("", "w0 = *(__u64 *)data; x1 = *(__u32 *)(data + 8);\n")

    def new(self) -> str:
        self.made += 1
        return f"x{self.made}"


def _read(w: _Writer) -> str:
    name, field = w.new(), w.field()
    w.numbers.append(name)
    return f"__u32 {name} = {field};\n"


def _compute(w: _Writer) -> str:
    text, name = w.expression(), w.new()
    if w.rng.random() < 0.4:
        return f"{w.number()} = {text};\n"
    w.numbers.append(name)
    return f"__u32 {name} = {text};\n"


def _wide(w: _Writer) -> str:
    return f"w0 {w.pick('+=', '^=', '=')} ((__u64){w.number()} {w.pick('<< 32', '* 2654435761u', '+ w0')}) {w.pick('|', '+')} {w.number()};\n"


def _branch(w: _Writer) -> str:
    text = f"if ({w.condition()}) {{\n{w.inside()}}}\n"
    return text + (f"else {{\n{w.inside()}}}\n" if w.rng.random() < 0.3 else "")


def _leave(w: _Writer) -> str:
    action = w.pick("XDP_DROP", "XDP_PASS", "XDP_TX", "verdict")
    return f"if ({w.condition()}) return {action};\n"


def _deeper(w: _Writer) -> str:
    """Return C code that checks the packet's length and parses the next header."""
    step = {"eth": ("ip", "ip6"), "ip": ("udp", "tcp"), "ip6": ()}.get(w.level, ())
    if not step or w.depth:
        return _leave(w)
    name = w.rng.choice(step)
    kind = {"ip": "iphdr", "ip6": "ipv6hdr", "udp": "udphdr", "tcp": "tcphdr"}[name]
    base = "eth + 1"
    if w.level == "ip":
        base = "ip + 1" if w.rng.random() < 0.6 else "(void *)ip + ip->ihl * 4"
    guard = {
        "ip": "if (eth->h_proto != bpf_htons(ETH_P_IP)) return XDP_PASS;\n",
        "ip6": "if (eth->h_proto != bpf_htons(ETH_P_IPV6)) return XDP_PASS;\n",
        "udp": "if (ip->protocol != IPPROTO_UDP) return XDP_PASS;\n",
        "tcp": "if (ip->protocol != IPPROTO_TCP) return XDP_DROP;\n",
    }[name]
    w.level = name
    check = (
        f"if ((void *)({name} + 1) > end) return {w.pick('XDP_DROP', 'XDP_PASS', 'XDP_ABORTED')};\n"
    )
    return f"{guard}struct {kind} *{name} = (void *)({base});\n{check}"


def _look_up(w: _Writer) -> str:
    name = w.new().replace("x", "e")
    how = w.rng.randrange(4)
    if how == 0:
        text = f"__u32 k{name} = {w.expression()};\nstruct entry *{name} = bpf_map_lookup_elem(&{w.pick('counts', 'config')}, &k{name});\n"
    elif how == 1:
        text = f"__u16 k{name} = {w.field()};\n__u32 *{name} = bpf_map_lookup_elem(&ports, &k{name});\n"
        return text + f"if ({name}) {w.pick('x0', 'x1', 'verdict')} {w.pick('=', '+=')} *{name};\n"
    elif how == 2 and w.level == "ip6":
        text = (
            f"struct key6 k{name} = {{}};\n__builtin_memcpy(k{name}.a, &ip6->saddr, 16);\n"
            f"__builtin_memcpy(k{name}.b, &ip6->daddr, 16);\nk{name}.c = {w.number()};\n"
            f"struct entry *{name} = bpf_map_lookup_elem(&flows6, &k{name});\n"
        )
    else:
        text = (
            f"struct key k{name} = {{}};\nk{name}.a = {w.field()};\nk{name}.b = {w.operand()};\n"
            f"k{name}.c = {w.field()};\nk{name}.e = {w.operand()};\n"
            f"struct entry *{name} = bpf_map_lookup_elem(&flows, &k{name});\n"
        )
    if w.rng.random() < 0.5:
        return (
            text
            + f"if (!{name}) return {w.pick('XDP_PASS', 'XDP_DROP', 'verdict')};\n"
            + _entry(w, name)
        )
    text += f"if ({name}) {{\n{_entry(w, name)}{w.inside(2)}}}\n"
    if w.rng.random() < 0.3:
        text += f"else {{ struct entry n = {{.packets = 1, .bytes = end - data}};\nbpf_map_update_elem(&{w.pick('counts', 'config')}, &k{name}, &n, 0);\n}}\n"
    return text


def _entry(w: _Writer, name: str) -> str:
    return w.pick(
        f"{name}->packets++; {name}->bytes += end - data;\n",
        f"__sync_fetch_and_add(&{name}->packets, 1);\n__sync_fetch_and_add(&{name}->bytes, end - data);\n",
        f"__sync_fetch_and_add(&{name}->packets, 1);\n",
        f"x0 = {name}->last; x1 ^= {name}->flags;\n",
        f"if ({name}->port == {w.number()}) x0 += {name}->last;\n",
        f"__builtin_memcpy(eth->h_dest, {name}->mac, 6);\n",
        f"{name}->last = x0;\n",
    )


def _write(w: _Writer) -> str:
    choices = [
        "__u8 t[6]; __builtin_memcpy(t, eth->h_dest, 6); __builtin_memcpy(eth->h_dest, eth->h_source, 6);"
        " __builtin_memcpy(eth->h_source, t, 6);",
        f"eth->h_dest[{w.rng.randrange(6)}] = {w.number()};",
        f"eth->h_proto = bpf_htons({w.constant()});",
    ]
    if w.level in ("ip", "udp", "tcp"):
        choices += [
            "__u32 s = ip->check + bpf_htons(0x0100); ip->check = s + (s >= 0xffff); ip->ttl--;",
            f"__u32 o = ip->daddr; ip->daddr = {w.number()};"
            " __u64 s = (__u16)~ip->check + (__u64)(~o & 0xffff) + (~o >> 16)"
            " + (ip->daddr & 0xffff) + (ip->daddr >> 16); ip->check = fold(s);",
            "__u32 o = ip->saddr; ip->saddr = ip->daddr; ip->daddr = o;",
            "ip->tos |= 0xb8;",
        ]
    if w.level in ("udp", "tcp"):
        choices += [f"{w.level}->dest = bpf_htons({w.number()});", f"{w.level}->check = 0;"]
    return f"{{ {w.rng.choice(choices)} }}\n"


def _hash(w: _Writer) -> str:
    return f"x0 = mix({w.number()}, {w.number()}, {w.operand()});\n"


def _loop(w: _Writer) -> str:
    count, unroll = w.rng.randint(2, 8), w.pick("nounroll", "unroll")
    body = w.pick(
        "s += p[i];",
        "s = (s << 5) + s + p[i];",
        "if (p[i] == x0) s++;",
        "s ^= p[i]; for (int j = 0; j < 3; j++) s = s & 1 ? (s >> 1) ^ 0xedb88320 : s >> 1;",
        "s += bpf_ntohs(((__u16 *)p)[i]);",
    )
    return (
        f"{{ __u8 *p = (void *)(eth + 1);\nif ((void *)(p + 40) > end) return XDP_PASS;\n__u32 s = x1;\n"
        f'_Pragma("clang loop unroll({"disable" if unroll == "nounroll" else "full"})")\n'
        f"for (int i = 0; i < {count}; i++) {{ {body} }}\nx1 = s; }}\n"
    )


def _sum(w: _Writer) -> str:
    if w.level not in ("ip", "udp", "tcp"):
        return _compute(w)
    return (
        '{ __u64 s = 0; __u16 *h = (void *)ip;\n_Pragma("clang loop unroll(full)")\n'
        "for (int i = 0; i < 10; i++) s += h[i];\nx0 = fold(s); }\n"
    )


def _switch(w: _Writer) -> str:
    cases = sorted(w.rng.sample(range(1, 130), w.rng.randint(2, 5)))
    text = "".join(f"case {one}: {{ {w.inside(1)}break; }}\n" for one in cases)
    return f"switch ({w.field()}) {{\n{text}default: {{ {w.inside(1)}}} }}\n"


def _count(w: _Writer) -> str:
    return w.pick(
        "total++;\n",
        "total += end - data;\n",
        f"if (x0 > limit) return {w.pick('XDP_DROP', 'verdict')};\n",
        "__sync_fetch_and_add(&total, 1);\n",
    )


def _help(w: _Writer) -> str:
    return w.pick(
        "w0 += bpf_ktime_get_ns();\n",
        "x0 = bpf_get_prandom_u32();\n",
        "x1 ^= bpf_get_smp_processor_id();\n",
        "w0 -= bpf_ktime_get_ns() / 1000;\n",
        "return bpf_redirect(x0, 0);\n" if w.depth else "x0 ^= bpf_get_prandom_u32() & 3;\n",
    )


def _copy(w: _Writer) -> str:
    """Return C code that saves headers, changes the packet's size, and writes the headers back."""
    size = w.pick("sizeof(struct ethhdr)", "12", "20", "40", "16")
    bytes_ = w.rng.choice((-8, -4, -20, -40, 4))
    pointer = w.pick("data", "data", "eth->h_source")
    text = f"{{ __u8 t[40]; if (data + 60 > end) return XDP_DROP;\n__builtin_memcpy(t, {pointer}, {size});\n"
    text += f"if (bpf_xdp_adjust_head(ctx, {bytes_})) return XDP_ABORTED;\n"
    text += "__u8 *d = (void *)(long)ctx->data; if (d + 60 > (__u8 *)(long)ctx->data_end) return XDP_DROP;\n"
    text += f"__builtin_memcpy(d, t, {size});\n"
    more = w.pick(
        "*(__u16 *)(d + 12) = bpf_htons(0x8100);",
        f"*(__u32 *)(d + 14) = {w.operand()};",
        "",
        f"struct iphdr *o = (void *)(d + 14); o->ihl = 5; o->version = 4; o->tos = 0; o->ttl = 64; o->protocol = 4;"
        f" o->saddr = {w.number()}; o->daddr = {w.operand()}; o->tot_len = bpf_htons({w.number()}); o->check = 0;",
    )
    return text + f"{more}\nreturn {w.pick('XDP_TX', 'XDP_PASS')}; }}\n" if w.depth else _gather(w)


def _gather(w: _Writer) -> str:
    """Return C code that copies packet fields into a structure."""
    name = w.new().replace("x", "g")
    text = f"struct key6 {name} = {{}};\n"
    parts = {
        "eth": f"__builtin_memcpy({name}.a, eth->h_source, 6);\n",
        "ip": f"__builtin_memcpy({name}.a, &ip->saddr, 8); {name}.c = ip->id;\n",
        "ip6": f"__builtin_memcpy({name}.a, &ip6->saddr, 32);\n",
        "udp": f"__builtin_memcpy({name}.b, udp, 8);\n",
        "tcp": f"__builtin_memcpy({name}.b, tcp, 12);\n",
    }
    text += parts[w.level] + f"{name}.e = {w.operand()};\n"
    text += f"{w.pick('x0', 'x1')} = (__u64)bpf_map_lookup_elem(&flows6, &{name}) != 0;\n"
    return text


def _clear(w: _Writer) -> str:
    """Return C code that clears a structure for a helper function, and sets some of its fields."""
    fields = w.rng.sample(
        [
            "family = 2",
            "l4_protocol = 6",
            f"tot_len = {w.number()}",
            "ifindex = 3",
            f"ipv4_src = {w.number()}",
            f"ipv4_dst = {w.operand()}",
            "tos = 1",
        ],
        4,
    )
    body = " ".join(f"f.{one};" for one in fields)
    return f"{{ struct bpf_fib_lookup f = {{}}; {body} x0 = bpf_fib_lookup(ctx, &f, sizeof(f), 0); }}\n"


def _atomics(w: _Writer) -> str:
    count = w.rng.randint(2, 6)
    return (
        "{ __u32 k = 0; struct entry *e = bpf_map_lookup_elem(&config, &k); if (e) {\n"
        + "".join(
            f"__sync_fetch_and_add(&e->{w.pick('packets', 'bytes')}, {w.pick('1', 'x0', 'x1')});\n"
            for _ in range(count)
        )
        + "} }\n"
    )


def _carry(w: _Writer) -> str:
    """Return C code that folds a 64-bit sum to 16 bits, as in a checksum."""
    turns = w.rng.randint(2, 5)
    text = "".join(f"s += {w.operand()}; " for _ in range(w.rng.randint(1, 4)))
    return (
        f"{{ __u64 s = ~{w.number()} & 0xffff; {text}\nfor (int i = 0; i < {turns}; i++)"
        f" if (s >> 16) s = (s & 0xffff) + (s >> 16);\nx1 = ~s; }}\n"
    )


def _choose(w: _Writer) -> str:
    name = w.new()
    text = f"__u32 {name} = {w.condition()} ? {w.operand()} : {w.operand()};\n"
    w.numbers.append(name)
    return text


def _context(w: _Writer) -> str:
    return w.pick(
        "x0 ^= ctx->ingress_ifindex;\n",
        "x1 += ctx->rx_queue_index;\n",
        "if (ctx->ingress_ifindex == x1) return XDP_DROP;\n",
    )


def _apart(w: _Writer) -> str:
    """Return a call of a C function that the compiler does not inline."""
    name = w.new()
    what = w.pick(
        f"apart({w.number()}, {w.operand()})",
        f"kept({w.number()}, {w.operand()}, {w.number()})",
        "summed((void *)(eth + 1), end)",
        f"({{ struct key k = {{ {w.number()}, 1, x1 }}; filled(&k, 0) + k.a; }})",
        f"({{ struct key k = {{ x0, {w.number()} }};"
        " filled(&k, bpf_map_lookup_elem(&flows, &k)) + k.d; })",
    )
    w.numbers.append(name)
    return f"__u32 {name} = {what};\n"


def _spread(w: _Writer) -> str:
    """Return C code that reads packet bytes at random offsets, some of them negative."""
    if w.rng.random() < 0.2:
        kind, size = w.rng.choice((("__u8", 1), ("__u8", 1), ("__u16", 2), ("__u32", 4)))
        return (
            f"{{ __u8 *p = (__u8 *)data + 14 + (x1 & 15); if ((void *)p > end) return XDP_DROP;\n"
            f"x0 += *({kind} *)(p - {size}); {w.pick('', 'p[-1] = x1;', 'p[-14] = 1;')} }}\n"
        )
    base = w.rng.choice((0, 0, 20, 64))
    first, behind = w.rng.choice(((-base, 60), (9, 14), (20, 30)))
    parts = []
    for _ in range(w.rng.randint(2, 6)):
        kind = w.pick("__u8", "__u16", "__u32", "__u64")
        parts.append(f"*({kind} *)(p + {w.rng.randrange(first, behind)})")
    store = f"*({w.pick('__u16', '__u32', '__u64')} *)(p + {w.rng.randrange(150)}) = x0;"
    text = f"{{ __u8 *p = (__u8 *)data + {base}; if ((void *)(p + 160) > end) return XDP_DROP;\n"
    return text + f"{w.pick('w0', 'x0')} += {' ^ '.join(parts)}; {w.pick(store, '')} }}\n"


def _variables(w: _Writer) -> str:
    """Return C code that accesses stack variables of all sizes, at small and large offsets."""
    size = w.rng.choice((12, 20, 40, 60, 90, 120, 200))
    kinds = ("__u8", "__u16", "__u32", "__u64")
    bytes_ = {"__u8": 1, "__u16": 2, "__u32": 4, "__u64": 8}
    text = f"{{ volatile __u8 t[{size}] __attribute__((aligned(8)));\n"
    for _ in range(w.rng.randint(2, 6)):
        kind = w.rng.choice(kinds)
        step = w.rng.choice((1, bytes_[kind], bytes_[kind]))
        place = w.rng.randrange(max(1, (size - 8) // step)) * step
        packed = f"*(volatile struct {{ {kind} v; }} __attribute__((packed)) *)(t + {place})"
        aligned = f"*(volatile {kind} *)(t + {place // bytes_[kind] * bytes_[kind]})"
        which = w.rng.choice((f"({packed}).v", aligned, aligned))
        text += w.pick(f"{which} = {w.number()};\n", f"x0 += {which};\n", f"w0 ^= {which};\n")
    return text + "}\n"


def _large(w: _Writer) -> str:
    """Return C statements with arithmetic on 64-bit and signed numbers."""
    big = f"{w.rng.randrange(1 << w.rng.choice((31, 33, 40, 63)))}ull"
    return w.pick(
        f"if (w0 {w.pick('==', '!=', '>', '<')} {big}) x0++;\n",
        f"w0 {w.pick('+=', '^=', '&=', '|=')} {big};\n",
        f"w0 &= ~{w.pick('7', '15', '255', '1023', '0xffff', '0x12345')}ull;\n",
        f"x0 &= ~{w.pick('7', '255', '0xffff', '0x12345')}u;\n",
        f"w0 /= {w.pick('1000', '1000000000', '8')};\n",
        "w0 = __builtin_bswap64(w0);\n",
        f"if ((__s64)w0 {w.pick('<', '>', '>=')} {w.rng.randrange(-300, 300)}) return XDP_DROP;\n",
        f"if ((int)x0 {w.pick('<', '>', '>=')} {w.rng.randrange(-70000, 300)}) x1 += 3;\n",
        f"w0 = (__s64)w0 >> {w.rng.choice((3, 32, 40))};\n",
        f"w0 {w.pick('<<=', '>>=')} {w.rng.choice((1, 8, 32, 33, 48))};\n",
        f"x0 = (int)x0 >> {w.rng.randrange(1, 30)};\n",
        f"w0 -= {w.number()}; w0 = -w0;\n",
        f"if (w0 & {w.rng.choice((1, 255, 4096, 1 << 20, 1 << 40))}) x1 ^= x0;\n",
        f"if (w0 {w.pick('==', '!=', '<', '>')} (__u64){w.number()} * 3) x0 ^= 5;\n",
    )


def _divide(w: _Writer) -> str:
    how = w.pick("small", "any", "register", "rest")
    by = w.rng.choice((2, 3, 7, 8, 10, 16, 60, 100, 1000, 65535))
    return {
        "small": f"x0 = (x0 & 0xffff) / {by};\n",
        "any": f"x1 = {w.number()} / {by};\n",
        "register": f"x0 = x1 / ({w.number()} | 1);\n",
        "rest": f"x1 = {w.number()} % {by};\n",
    }[how] + w.pick("", f"x0 = (x1 & 255) * {w.rng.choice((3, 300, 70000))};\n")


def _shifts(w: _Writer) -> str:
    return w.pick(
        f"x0 = x0 {w.pick('<<', '>>')} (x1 & 31);\n",
        f"w0 = w0 {w.pick('<<', '>>')} (x1 & 63);\n",
        "w0 = 1ull << (x0 & 31);\n",
        "x1 = (int)x1 >> (x0 & 31);\n",
        "w0 = (__s64)w0 >> (x1 & 63);\n",
    )


def _update(w: _Writer) -> str:
    """Return C code that inserts map elements, or looks them up by packet bytes."""
    place = w.rng.randrange(64)
    return w.pick(
        "{ __u32 k = x0 & 3; struct big *b = bpf_map_lookup_elem(&bigs, &k); if (b) {"
        f" __sync_fetch_and_add(&b->slots[{place}], {w.pick('1', 'x1', 'end - data')});"
        f" x0 += b->slots[{w.rng.randrange(64)}] + b->more[{w.rng.randrange(100)}];"
        f" b->more[{place}] = x1; }} }}\n",
        f"{{ __u32 *r = bpf_ringbuf_reserve(&events, 24, 0); if (r) {{ r[0] = x0; r[{w.pick('1', '3')}] ="
        " x1; x1 += r[2]; *(__u64 *)(r + 4) = w0; bpf_ringbuf_submit(r, 0); } }\n",
        f"{{ __u16 k = {w.number()}; __u32 v = {w.operand()}; bpf_map_update_elem(&ports, &k, &v, 0); }}\n",
        f"{{ __u16 k = {w.number()}; bpf_map_delete_elem(&ports, &k); }}\n",
        "{ __u32 *e = bpf_map_lookup_elem(&ports, &eth->h_proto); if (e) x0 += *e; }\n",
        "{ struct entry *e = bpf_map_lookup_elem(&config, &(__u32){7}); if (e) {"
        f" __builtin_memcpy(eth->h_dest, e->mac, 6); e->flags = {w.operand()};"
        " __sync_fetch_and_add(&e->last, x1); __sync_fetch_and_add(&e->bytes, end - data);"
        " x0 += __sync_fetch_and_add(&e->flags, 2); } }\n",
    )


KINDS: dict[str, Callable[[_Writer], str]] = {
    "read": _read,
    "compute": _compute,
    "wide": _wide,
    "branch": _branch,
    "leave": _leave,
    "deeper": _deeper,
    "look up": _look_up,
    "write": _write,
    "hash": _hash,
    "loop": _loop,
    "sum": _sum,
    "switch": _switch,
    "count": _count,
    "help": _help,
    "choose": _choose,
    "copy": _copy,
    "gather": _gather,
    "clear": _clear,
    "atomics": _atomics,
    "carry": _carry,
    "context": _context,
    "apart": _apart,
    "spread": _spread,
    "variables": _variables,
    "large": _large,
    "divide": _divide,
    "shifts": _shifts,
    "update": _update,
}
"""For each kind of statement, the function that writes such a statement."""


def program(seed: int, weights: Mapping[str, float], programs: int = 4) -> str:
    """Return a C source with `programs` random XDP programs.

    `weights` are those of the kinds of statements. Equal seeds and weights give equal sources.
    """
    rng = random.Random(seed)
    texts = [_HEAD]
    for number in range(programs):
        writer = _Writer(rng, weights)
        body = "".join(writer.statement() for _ in range(rng.randint(3, 14)))
        texts.append(
            f'SEC("xdp") int p{number}(struct xdp_md *ctx) {{\n'
            "void *end = (void *)(long)ctx->data_end, *data = (void *)(long)ctx->data;\n"
            "struct ethhdr *eth = data;\n__u32 x0 = 0, x1 = 1, verdict = XDP_PASS;\n__u64 w0 = 0;\n"
            f"if ((void *)(eth + 1) > end) return XDP_DROP;\n{writer.known()}{body}"
            f"return x0 + x1 + (__u32)(w0 >> 7) == {rng.randrange(1, 99)} ? XDP_TX : verdict;\n}}\n"
        )
    return "".join(texts)
