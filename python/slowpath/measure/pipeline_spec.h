/* Builds a pipeline from a .spec file in the form that slowpath prints: a statement, an instruction
 * or a closing brace on each line, and definitions before uses. DPDK 22.11 has no function for this.
 *
 * Programs that include this file define `refuse`, which stores an error message and returns -1. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

enum { SPEC_LINE = 1 << 16, SPEC_WORDS = 512, SPEC_LIST = 8192, SPEC_TEXT = 1 << 22 };

/* A file that is read line by line. Copies of words stay valid until the next file is opened. */
static struct {
	FILE *file;
	int number;
	int words;
	char *word[SPEC_WORDS];
	char line[SPEC_LINE];
	size_t used;
	char copies[SPEC_TEXT];
} spec;

/* Reads the next line that has words in front of a comment. Returns 0 at the end of the file. */
static int spec_next(void)
{
	while (fgets(spec.line, sizeof(spec.line), spec.file)) {
		char *rest;

		spec.number++;
		spec.words = 0;
		for (char *word = strtok_r(spec.line, " \t\r\n", &rest);
		     word && !strchr(";#/", word[0]) && spec.words < SPEC_WORDS;
		     word = strtok_r(NULL, " \t\r\n", &rest))
			spec.word[spec.words++] = word;
		if (spec.words)
			return 1;
	}
	return 0;
}

static int spec_is(int word, const char *text)
{
	return word < spec.words && !strcmp(spec.word[word], text);
}

/* Returns a word, or an empty string behind the last one. */
static const char *spec_word(int word)
{
	return word < spec.words ? spec.word[word] : "";
}

/* Returns a copy of the words from one to before another, or NULL without room. */
static char *spec_copy(int from, int to)
{
	char *start = spec.copies + spec.used;
	size_t left = sizeof(spec.copies) - spec.used;

	for (int i = from; i < to; i++) {
		int length = snprintf(spec.copies + spec.used, left, i > from ? " %s" : "%s",
				      spec_word(i));

		if (length < 0 || (size_t)length + 1 >= left)
			return NULL;
		spec.used += length;
		left -= length;
	}
	spec.copies[spec.used++] = 0;
	return start;
}

/* Reads lines up to a closing brace. Returns their number, or a negative error. */
static int spec_block(const char **lines)
{
	for (int count = 0; spec_next() && count < SPEC_LIST; count++) {
		if (spec_is(0, "}"))
			return count;
		lines[count] = spec_copy(0, spec.words);
		if (!lines[count])
			return -ENOMEM;
	}
	return -EINVAL;
}

static int spec_struct(struct rte_swx_pipeline *pipeline)
{
	static struct rte_swx_field_params field[SPEC_LIST];
	const char *name = spec_copy(1, 2);
	int count = 0, variable = 0;

	while (spec_next() && !spec_is(0, "}")) {
		const char *width = strchr(spec_word(0), '<');

		if (count == SPEC_LIST || !width)
			return -EINVAL;
		variable = !strncmp(spec_word(0), "varbit", strlen("varbit"));
		field[count].n_bits = strtoul(width + 1, NULL, 0);
		field[count++].name = spec_copy(1, 2);
	}
	return rte_swx_pipeline_struct_type_register(pipeline, name, field, count, variable);
}

static int spec_action(struct rte_swx_pipeline *pipeline)
{
	static const char *lines[SPEC_LIST];
	const char *name = spec_copy(1, 2);
	const char *data = spec_is(3, "instanceof") ? spec_copy(4, 5) : NULL;
	int count = spec_block(lines);

	return count < 0 ? count :
			   rte_swx_pipeline_action_config(pipeline, name, data, lines, count);
}

static enum rte_swx_table_match_type spec_match(const char *kind)
{
	return !strcmp(kind, "exact") ? RTE_SWX_TABLE_MATCH_EXACT :
	       !strcmp(kind, "lpm")   ? RTE_SWX_TABLE_MATCH_LPM :
					RTE_SWX_TABLE_MATCH_WILDCARD;
}

static int spec_table(struct rte_swx_pipeline *pipeline)
{
	static struct rte_swx_match_field_params field[SPEC_WORDS];
	static const char *action[SPEC_WORDS];
	static int in_entries[SPEC_WORDS], as_default[SPEC_WORDS];
	struct rte_swx_pipeline_table_params table = {
		.fields = field, .action_names = action,
		.action_is_for_table_entries = in_entries,
		.action_is_for_default_entry = as_default,
	};
	const char *name = spec_copy(1, 2);
	uint32_t most = 0;

	while (spec_next() && !spec_is(0, "}")) {
		int end = spec.words;

		if (spec_is(0, "key")) {
			while (spec_next() && !spec_is(0, "}") && table.n_fields < SPEC_WORDS) {
				field[table.n_fields].name = spec_copy(0, 1);
				field[table.n_fields++].match_type = spec_match(spec_word(1));
			}
		} else if (spec_is(0, "actions")) {
			while (spec_next() && !spec_is(0, "}") && table.n_actions < SPEC_WORDS) {
				in_entries[table.n_actions] = !spec_is(1, "@defaultonly");
				as_default[table.n_actions] = !spec_is(1, "@tableonly");
				action[table.n_actions++] = spec_copy(0, 1);
			}
		} else if (spec_is(0, "default_action")) {
			table.default_action_is_const = spec_is(end - 1, "const");
			end -= table.default_action_is_const;
			table.default_action_name = spec_copy(1, 2);
			if (end > 3 && !spec_is(3, "none"))
				table.default_action_args = spec_copy(3, end);
		} else if (spec_is(0, "size")) {
			most = strtoul(spec_word(1), NULL, 0);
		} else if (!spec_is(0, "instanceof") && !spec_is(0, "pragma")) {
			return -EINVAL;
		}
	}
	if (!table.n_fields)
		table.fields = NULL;
	return rte_swx_pipeline_table_config(pipeline, name, &table, NULL, NULL, most);
}

static int spec_statement(struct rte_swx_pipeline *pipeline)
{
	static const char *lines[SPEC_LIST];
	int count;

	if (spec_is(0, "struct"))
		return spec_struct(pipeline);
	if (spec_is(0, "header"))
		return rte_swx_pipeline_packet_header_register(pipeline, spec_word(1), spec_word(3));
	if (spec_is(0, "metadata"))
		return rte_swx_pipeline_packet_metadata_register(pipeline, spec_word(2));
	if (spec_is(0, "regarray"))
		return rte_swx_pipeline_regarray_config(pipeline, spec_word(1),
							strtoul(spec_word(3), NULL, 0),
							strtoull(spec_word(5), NULL, 0));
	if (spec_is(0, "metarray"))
		return rte_swx_pipeline_metarray_config(pipeline, spec_word(1),
							strtoul(spec_word(3), NULL, 0));
	if (spec_is(0, "action"))
		return spec_action(pipeline);
	if (spec_is(0, "table"))
		return spec_table(pipeline);
	if (!spec_is(0, "apply"))
		return -ENOTSUP;
	count = spec_block(lines);
	return count < 0 ? count : rte_swx_pipeline_instructions_config(pipeline, lines, count);
}

/* Adds the content of a .spec file to a pipeline whose ports are there, and builds it. Returns -1
 * after an error (`refuse`). */
static int spec_build(struct rte_swx_pipeline *pipeline, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int status = 0;

	spec.file = fopen(path, "r");
	spec.number = 0;
	spec.used = 0;
	if (!spec.file)
		return refuse("%s: %s", path, strerror(errno));
	while (!status && spec_next()) {
		char what[64];
		int line = spec.number;

		snprintf(what, sizeof(what), "%s %s", spec_word(0), spec_word(1));
		status = spec_statement(pipeline);
		if (status)
			refuse("%s:%d (%s): %s", name, line, what, strerror(-status));
	}
	fclose(spec.file);
	if (status)
		return -1;
	status = rte_swx_pipeline_build(pipeline);
	return status ? refuse("DPDK does not build the pipeline: %s", strerror(-status)) : 0;
}
