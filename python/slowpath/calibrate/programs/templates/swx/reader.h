
/* Builds a pipeline from a .spec file in the form that p4c emits, limited to the statements of
 * experiments: a line has one statement or instruction, and definitions precede uses. */
enum { WORDS = 8, LINE = 256, NAMED = 4096 };

struct reader {
	const char *path;
	FILE *file;
	int number;
	char text[LINE], cut[LINE];	/* the line as a whole, and split into words */
	char *word[WORDS];
	int words;
};

/* Reads the next line with words. Returns 0 at the end of the file. */
static int next_line(struct reader *from)
{
	while (fgets(from->text, LINE, from->file)) {
		char *rest;

		from->number++;
		from->text[strcspn(from->text, "\r\n")] = 0;
		strcpy(from->cut, from->text);
		from->words = 0;
		for (char *word = strtok_r(from->cut, " \t", &rest);
		     word && !strchr(";#/", word[0]) && from->words < WORDS; word = strtok_r(NULL, " \t", &rest))
			from->word[from->words++] = word;
		for (int i = from->words; i < WORDS; i++)
			from->word[i] = "";
		if (from->words)
			return 1;
	}
	return 0;
}

static int is(const struct reader *from, int word, const char *text)
{
	return !strcmp(from->word[word], text);
}

/* Lines of a block in braces. */
struct block {
	char *line[NAMED];
	uint32_t lines;
};

static void forget(struct block *block)
{
	for (uint32_t i = 0; i < block->lines; i++)
		free(block->line[i]);
	block->lines = 0;
}

static int read_block(struct reader *from, struct block *into)
{
	into->lines = 0;
	while (next_line(from)) {
		if (is(from, 0, "}"))
			return 0;
		if (into->lines == NAMED)
			return -ENOSPC;
		into->line[into->lines] = strdup(from->text);
		if (!into->line[into->lines++])
			return -ENOMEM;
	}
	return -EINVAL;
}

static int read_struct(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct rte_swx_field_params field[NAMED];
	static char name[NAMED][RTE_SWX_NAME_SIZE];
	char of[LINE];
	uint32_t found = 0;

	strcpy(of, from->word[1]);
	while (next_line(from) && !is(from, 0, "}")) {
		if (found == NAMED || sscanf(from->word[0], "bit<%u>", &field[found].n_bits) != 1)
			return -EINVAL;
		snprintf(name[found], sizeof(name[found]), "%s", from->word[1]);
		field[found].name = name[found];
		found++;
	}
	return rte_swx_pipeline_struct_type_register(pipeline, of, field, found, 0);
}

static int read_action(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct block body;
	char name[LINE], type[LINE];
	int typed = is(from, 3, "instanceof"), status;

	strcpy(name, from->word[1]);
	strcpy(type, from->word[4]);
	status = read_block(from, &body);
	if (!status)
		status = rte_swx_pipeline_action_config(pipeline, name, typed ? type : NULL,
							(const char **)body.line, body.lines);
	forget(&body);
	return status;
}

static int read_table(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	enum { FEW = 8 };
	struct rte_swx_match_field_params field[FEW];
	struct rte_swx_pipeline_table_params table = { .fields = field };
	const char *action[FEW];
	char name[LINE], field_name[FEW][LINE], action_name[FEW][LINE], usual[LINE] = "";
	uint32_t most = 0;

	strcpy(name, from->word[1]);
	while (next_line(from) && !is(from, 0, "}")) {
		if (is(from, 0, "key")) {
			while (next_line(from) && !is(from, 0, "}") && table.n_fields < FEW) {
				strcpy(field_name[table.n_fields], from->word[0]);
				field[table.n_fields].name = field_name[table.n_fields];
				field[table.n_fields++].match_type =
					is(from, 1, "exact") ? RTE_SWX_TABLE_MATCH_EXACT :
					is(from, 1, "lpm")   ? RTE_SWX_TABLE_MATCH_LPM :
							       RTE_SWX_TABLE_MATCH_WILDCARD;
			}
		} else if (is(from, 0, "actions")) {
			while (next_line(from) && !is(from, 0, "}") && table.n_actions < FEW) {
				strcpy(action_name[table.n_actions], from->word[0]);
				action[table.n_actions] = action_name[table.n_actions];
				table.n_actions++;
			}
		} else if (is(from, 0, "default_action")) {
			strcpy(usual, from->word[1]);
		} else if (is(from, 0, "size")) {
			most = strtoul(from->word[1], NULL, 0);
		} else {
			return -EINVAL;
		}
	}
	table.action_names = action;
	table.default_action_name = usual;
	return rte_swx_pipeline_table_config(pipeline, name, &table, NULL, NULL, most);
}

static int read_apply(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct block body;
	int status = read_block(from, &body);

	if (!status)
		status = rte_swx_pipeline_instructions_config(pipeline, (const char **)body.line,
							      body.lines);
	forget(&body);
	return status;
}

static int read_statement(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	char **word = from->word;

	if (is(from, 0, "struct"))
		return read_struct(pipeline, from);
	if (is(from, 0, "header"))
		return rte_swx_pipeline_packet_header_register(pipeline, word[1], word[3]);
	if (is(from, 0, "metadata"))
		return rte_swx_pipeline_packet_metadata_register(pipeline, word[2]);
	if (is(from, 0, "regarray"))
		return rte_swx_pipeline_regarray_config(pipeline, word[1], strtoul(word[3], NULL, 0),
							strtoull(word[5], NULL, 0));
	if (is(from, 0, "metarray"))
		return rte_swx_pipeline_metarray_config(pipeline, word[1],
							strtoul(word[3], NULL, 0));
	if (is(from, 0, "action"))
		return read_action(pipeline, from);
	if (is(from, 0, "table"))
		return read_table(pipeline, from);
	if (is(from, 0, "apply"))
		return read_apply(pipeline, from);
	return -EINVAL;
}

static int build(struct side *side, const char *what)
{
	char path[PATH];
	struct reader from = { .path = path };
	struct rte_swx_pipeline *pipeline;
	int status;

	path_of(path, what);
	status = rte_swx_pipeline_config(&side->pipeline, NULL, 0);
	if (status)
		return refuse("no pipeline: %s", strerror(-status));
	pipeline = side->pipeline;
	rte_swx_pipeline_port_in_type_register(pipeline, "memory", &in_memory);
	rte_swx_pipeline_port_out_type_register(pipeline, "memory", &to_memory);
//@ if kind == clone
	struct rte_swx_pipeline_mirroring_params copying = { .n_slots = clones, .n_sessions = 1 };

	rte_swx_pipeline_mirroring_config(pipeline, &copying);
//@ end
	status = rte_swx_pipeline_port_in_config(pipeline, 0, "memory", side);
	if (!status)
		status = rte_swx_pipeline_port_out_config(pipeline, 0, "memory", side);
	if (status)
		return refuse("no ports: %s", strerror(-status));
	from.file = fopen(path, "r");
	if (!from.file)
		return refuse("%s: %s", path, strerror(errno));
	while (!status && next_line(&from)) {
		int line = from.number;

		status = read_statement(pipeline, &from);
		if (status)
			refuse("%s:%d: %s", path, line, strerror(-status));
	}
	fclose(from.file);
	if (status)
		return -1;
	status = rte_swx_pipeline_build(pipeline);
//@ if kind == clone
	if (!status) {
		struct rte_swx_pipeline_mirroring_session_params session = {
			.truncation_length = bytes,
		};

		status = rte_swx_ctl_pipeline_mirroring_session_set(pipeline, 0, &session);
	}
//@ end
	return status ? refuse("%s: cannot be built: %s", path, strerror(-status)) : 0;
}
