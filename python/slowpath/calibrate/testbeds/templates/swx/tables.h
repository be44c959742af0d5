
enum { KEY = 64 };

/* One entry of a table. */
struct content {
	struct rte_swx_table_entry entry;
	uint8_t key[KEY], mask[KEY];
};

static uint8_t action_data[1024];

/* Returns the number of the action with this name, or -1. */
static int64_t action_of(struct rte_swx_pipeline *pipeline, const char *name)
{
	struct rte_swx_ctl_action_info action;

	for (uint32_t i = 0; !rte_swx_ctl_action_info_get(pipeline, i, &action); i++)
		if (!strcmp(action.name, name))
			return i;
	return -1;
}

/* Writes entry number i, which is the same on all test beds. */
static void make_entry(struct content *one, uint32_t i)
{
	uint64_t says = 1;

	memset(one->mask, 0xff, sizeof(one->mask));
	memcpy(one->key, arriving + KEY_OFFSET, key_bytes);
//@ if kind == table-exact
	memcpy(one->key, &i, sizeof(i));
//@ end
//@ if kind == table-lpm
	write_number(one->key, i);
	for (long bit = prefix_bits; bit < 8 * key_bytes; bit++) {
		one->key[bit / 8] &= ~(0x80 >> bit % 8);
		one->mask[bit / 8] &= ~(0x80 >> bit % 8);
	}
//@ end
//@ if kind == table-ternary
	/* No packet has the first bit of the key set, so only the last entry matches. */
	int last = i + 1 == entries;
	uint32_t mask = rte_cpu_to_be_32(last ? 1U << 31 : ~0U << i % 8);
	uint32_t key = last ? 0 : mask & rte_cpu_to_be_32(1U << 31 | i * ${spread}U);

	if (last)
		memset(one->mask, 0, key_bytes);
	memcpy(one->key, &key, sizeof(key));
	memcpy(one->mask, &mask, sizeof(mask));
	one->entry.key_priority = i;
	says = i + 1;
//@ end
	memcpy(action_data, &says, sizeof(says));
	one->entry.key = one->key;
	one->entry.key_mask = one->mask;
	one->entry.action_data = action_data;
}
//@ if kind == table-exact

/* Fills a table entry by entry. */
static int fill_table(struct rte_swx_table_ops *operations, struct rte_swx_table_state *state,
		      uint64_t action)
{
	struct content one = { 0 };

	for (uint32_t i = 0; i < entries; i++) {
		int status;

		make_entry(&one, i);
		one.entry.action_id = action;
		status = operations->add(state->obj, &one.entry);
		if (status)
			return refuse("entry %u cannot be added: %s", i, strerror(-status));
	}
	return 0;
}
//@ else

/* Fills a table at once, because DPDK rebuilds tables of this type for each change. */
static int fill_table(struct rte_swx_table_ops *operations, struct rte_swx_table_state *state,
		      uint64_t action)
{
	struct rte_swx_table_params parameters = {
		.match_type = RTE_SWX_TABLE_MATCH_WILDCARD, .key_size = key_bytes,
		.action_data_size = value_bytes, .n_keys_max = entries,
	};
	struct rte_swx_table_entry_list list = TAILQ_HEAD_INITIALIZER(list);
	struct content *all = calloc(entries, sizeof(all[0]));
	uint8_t *data = calloc(entries, value_bytes);

	if (all && data) {
		for (uint32_t i = 0; i < entries; i++) {
			make_entry(&all[i], i);
			memcpy(data + (size_t)i * value_bytes, action_data, value_bytes);
			all[i].entry.action_data = data + (size_t)i * value_bytes;
			all[i].entry.action_id = action;
			TAILQ_INSERT_TAIL(&list, &all[i].entry, node);
		}
		operations->free(state->obj);
		state->obj = operations->create(&parameters, &list, "", 0);
	}
	free(all);
	free(data);
	return all && data && state->obj ? 0 : refuse("no table of %ld entries", (long)entries);
}
//@ end

static int fill(struct rte_swx_pipeline *pipeline)
{
	struct rte_swx_table_state *state;
	int64_t action = action_of(pipeline, "hit");

	if (action < 0 || rte_swx_pipeline_table_state_get(pipeline, &state))
		return refuse("the pipeline has no tables");
	for (long t = 0; t < tables; t++) {
		struct rte_swx_table_ops operations;
		int stub;

		if (rte_swx_ctl_table_ops_get(pipeline, t, &operations, &stub) || stub)
			return refuse("the pipeline has no table %ld", t);
		if (fill_table(&operations, &state[t], action))
			return -1;
	}
	return 0;
}
