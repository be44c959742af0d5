
/* Runs a pipeline until it has sent all received packets. */
static int drain(struct side *side)
{
	side->closed = 1;
	for (int turn = 0; turn < 1000 && side->sent < side->received; turn++)
		rte_swx_pipeline_run(side->pipeline, STEP);
	side->closed = 0;
	if (side->sent != side->received)
		return refuse("of %lu packets %lu came out", side->received, side->sent);
	return 0;
}

/* Compares the last sent packet with the expected one. */
static int check_last(const struct side *side)
{
	return check_packet(side->last.pkt + side->last.offset, side->last.length, side->expected,
			    side->expected_length);
}
//@ if tabled

/* Checks that all lookups of all packets hit, or that all miss. */
static int check_look_ups(const struct side *side)
{
	for (long t = 0; t < tables; t++) {
		uint64_t actions[8] = { 0 }, all = side->received * repeats;
		struct rte_swx_table_stats found = { .n_pkts_action = actions };
		char name[16];

		snprintf(name, sizeof(name), "table%ld", t);
		if (rte_swx_ctl_pipeline_table_stats_read(side->pipeline, name, &found))
			return refuse("the pipeline has no %s", name);
//@ if kind == table-ternary
		if (found.n_pkts_hit != all || found.n_pkts_miss)
//@ else
//@ if hit
		if (found.n_pkts_hit != all || found.n_pkts_miss)
//@ else
		if (found.n_pkts_miss != all || found.n_pkts_hit)
//@ end
//@ end
			return refuse("%s: %lu hits and %lu misses in %lu lookups", name,
				      found.n_pkts_hit, found.n_pkts_miss, all);
	}
	return 0;
}
//@ end
//@ if kind == state

/* Checks the words of state: written ones, or a sum equal to the number of packets. */
static int check_state(const struct side *side)
{
	for (long a = 0; a < accesses; a++) {
		uint64_t sum = 0, word;
		char name[16];

		snprintf(name, sizeof(name), "state%ld", a);
		for (long i = 0; i < entries; i++) {
			if (rte_swx_ctl_pipeline_regarray_read(side->pipeline, name, i, &word))
				return refuse("the pipeline has no %s", name);
			sum += word;
		}
//@ if operation == atomic-add
		if (sum != side->received)
//@ end
//@ if operation == write
		if (!sum || sum > entries)
//@ end
//@ if operation == read
		if (sum != ${initial} * entries)
//@ end
			return refuse("%s: the sum of its words is %lu", name, sum);
	}
	return 0;
}
//@ end
//@ if kind == meter

/* Checks that each packet has passed each meter, and was green. */
static int check_meters(const struct side *side)
{
	for (long m = 0; m < meters; m++) {
		struct rte_swx_ctl_meter_stats found;
		uint64_t green = 0;
		char name[16];

		snprintf(name, sizeof(name), "meter%ld", m);
		for (long i = 0; i < entries; i++) {
			if (rte_swx_ctl_meter_stats_read(side->pipeline, name, i, &found))
				return refuse("the pipeline has no %s", name);
			green += found.n_pkts[RTE_COLOR_GREEN];
		}
		if (green != side->received)
			return refuse("%s: %lu green packets of %lu", name, green, side->received);
	}
	return 0;
}
//@ end

static int check(void)
{
	if (drain(&sides[0]) || drain(&sides[1]))
		return -1;
//@ if tabled
	if (check_look_ups(&sides[1]))
		return -1;
//@ end
//@ if kind == state
	if (check_state(&sides[1]))
		return -1;
//@ end
//@ if kind == meter
	if (check_meters(&sides[1]))
		return -1;
//@ end
//@ if kind == clone
	if (sides[0].copies || sides[1].copies != clones * sides[1].received)
		return refuse("%lu copies of %lu packets", sides[1].copies, sides[1].received);
//@ end
	return check_last(&sides[0]) || check_last(&sides[1]) ? -1 : 0;
}
