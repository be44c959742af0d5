/* What the published elements do with a packet, by their description: twins of ours, written from
 * what is said of them (docs/explanation/insights-advice.md), from which the instructions of each
 * are counted. AMOUNT is the number of rules, slots or rounds. State is empty, so that look-ups find
 * nothing in a slot and visit all of them. */
#include <stdint.h>

#ifndef AMOUNT
#define AMOUNT 1
#endif
#define BUCKETS 1024

struct rule {
	uint32_t source, source_mask, destination, destination_mask;
	uint16_t source_low, source_high, low, high;
	uint8_t protocol, action;
	uint16_t unused;
	uint32_t unused_too;
};

struct key {
	uint32_t source, destination;
	uint32_t ports;
	uint32_t valid;
};

struct entry {
	uint32_t source, destination;
	uint32_t ports;
	uint32_t reverse;
};

struct rule rules[64];
struct key keys[BUCKETS][8];
struct entry entries[BUCKETS][8];
uint32_t reverse[BUCKETS];
struct { uint32_t packets, bytes, first, last, rate, sum; } average;
struct { uint32_t packets, bytes, tcp, udp, icmp, other, last; } counted;
struct { uint32_t source, destination, ports, id; } tunnel;
struct { uint32_t state, sequence, acknowledged, window; } connections[BUCKETS];
uint32_t opened, served;

static uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static uint32_t hash(uint32_t source, uint32_t destination, uint32_t ports)
{
	uint32_t found = source ^ destination ^ ports;

	found ^= found >> 16;
	found *= 0x85ebca6b;
	found ^= found >> 13;
	return found % BUCKETS;
}

int nothing(const uint8_t *packet, uint32_t length)
{
	return 1;
}

/* The four words of a packet that others below look at, by themselves. */
int headers(const uint8_t *packet, uint32_t length)
{
	return (word(packet + 26) ^ word(packet + 30) ^ word(packet + 34)) & 1;
}

int filter(const uint8_t *packet, uint32_t length)
{
	uint32_t source = word(packet + 26), destination = word(packet + 30);
	uint32_t ports = word(packet + 34), action = 1;

	for (uint32_t i = 0; i < AMOUNT; i++) {
		const struct rule *one = &rules[i];
		if ((source & one->source_mask) == one->source &&
		    (destination & one->destination_mask) == one->destination &&
		    ports >> 16 >= one->source_low && ports >> 16 <= one->source_high &&
		    (ports & 0xffff) >= one->low && (ports & 0xffff) <= one->high)
			action = one->action;
	}
	return action;
}

int avgcounter(const uint8_t *packet, uint32_t length)
{
	average.packets++;
	average.bytes += length;
	average.last = average.first + 1;
	average.sum += average.rate;
	return 1;
}

int counter(const uint8_t *packet, uint32_t length)
{
	counted.packets++;
	counted.bytes += length;
	if (packet[23] == 6)
		counted.tcp++;
	else if (packet[23] == 17)
		counted.udp++;
	else
		counted.other++;
	return 1;
}

int udpipencap(uint8_t *packet, uint32_t length)
{
	uint32_t sum = 0x4500 + length;

	*(uint32_t *)(packet + 26) = tunnel.source;
	*(uint32_t *)(packet + 30) = tunnel.destination;
	*(uint32_t *)(packet + 34) = tunnel.ports;
	*(uint16_t *)(packet + 18) = tunnel.id;
	*(uint16_t *)(packet + 16) = length;
	packet[14] = 0x45;
	packet[22] = 64;
	packet[23] = 17;
	sum += (tunnel.source & 0xffff) + (tunnel.source >> 16);
	sum += (tunnel.destination & 0xffff) + (tunnel.destination >> 16);
	sum += tunnel.id;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	*(uint16_t *)(packet + 24) = ~sum;
	return 1;
}

/* All slots of a bucket, until one has the key; -1: none. */
static int look_up(uint32_t bucket, uint32_t source, uint32_t destination, uint32_t ports)
{
	for (int slot = 0; slot < AMOUNT; slot++) {
		const struct key *one = &keys[bucket][slot];
		if (one->source == source && one->destination == destination && one->ports == ports)
			return slot;
	}
	return -1;
}

static void add(uint32_t bucket, uint32_t source, uint32_t destination, uint32_t ports)
{
	for (int slot = 0; slot < AMOUNT; slot++) {
		struct key *one = &keys[bucket][slot];
		if (one->valid)
			continue;
		one->source = source;
		one->destination = destination;
		one->ports = ports;
		return;
	}
}

int iprewriter(uint8_t *packet, uint32_t length)
{
	uint32_t source = word(packet + 26), destination = word(packet + 30);
	uint32_t ports = word(packet + 34), bucket = hash(source, destination, ports);
	int slot = look_up(bucket, source, destination, ports);

	if (slot < 0)
		add(bucket, source, destination, ports);
	else {
		*(uint32_t *)(packet + 26) = entries[bucket][slot].source;
		*(uint32_t *)(packet + 30) = entries[bucket][slot].destination;
		*(uint32_t *)(packet + 34) = entries[bucket][slot].ports;
	}
	return reverse[bucket] & 1;
}

int webgen(uint8_t *packet, uint32_t length)
{
	uint32_t source = word(packet + 26), destination = word(packet + 30);
	uint32_t ports = word(packet + 34), bucket = hash(source, destination, ports);
	int slot = look_up(bucket, source, destination, ports);

	if (slot < 0)
		add(bucket, source, destination, ports);
	connections[bucket].state = packet[47];
	connections[bucket].sequence = word(packet + 38);
	connections[bucket].acknowledged = word(packet + 42);
	connections[bucket].window = packet[48];
	if (packet[47] & 2)
		opened++;
	served++;
	*(uint32_t *)(packet + 38) = connections[bucket].acknowledged;
	*(uint32_t *)(packet + 42) = connections[bucket].sequence + 1;
	packet[47] = 0x12;
	return 1;
}

int tcpdemux(const uint8_t *packet, uint32_t length)
{
	uint32_t source = word(packet + 26), destination = word(packet + 30);
	uint32_t ports = word(packet + 34), bucket = hash(source, destination, ports);

	for (int slot = 0; slot < AMOUNT; slot++) {
		const struct key *one = &keys[bucket][slot];
		if (one->source == source || one->destination == destination || one->ports == ports)
			return slot;
	}
	return AMOUNT;
}

int tcpconn(const uint8_t *packet, uint32_t length)
{
	uint32_t source = word(packet + 26), destination = word(packet + 30);
	uint32_t ports = word(packet + 34);

	add(hash(source, destination, ports), source, destination, ports);
	return 1;
}

int compute(const uint8_t *packet, uint32_t length)
{
	uint32_t sum = packet[22];

	for (uint32_t i = 0; i < AMOUNT; i++) {
		sum ^= sum << 3;
		sum += packet[18];
		sum ^= i;
	}
	return sum & 1;
}
