
//@ include ../../../../measure/pipeline_spec.h

/* The input port and the output port of a pipeline, with their arguments. */
struct ports {
	struct rte_swx_port_in_ops *in;
	void *in_arguments;
	struct rte_swx_port_out_ops *out;
	void *out_arguments;
};

/* Builds the pipeline of a file, which the caller frees even after an error (`refuse`). */
static int build(struct rte_swx_pipeline **built, const char *what, const struct ports *ports)
{
	char path[PATH];
	struct rte_swx_pipeline *pipeline;
	int status;

	path_of(path, what);
	status = rte_swx_pipeline_config(built, NULL, 0);
	if (status)
		return refuse("no pipeline: %s", strerror(-status));
	pipeline = *built;
	rte_swx_pipeline_port_in_type_register(pipeline, "port", ports->in);
	rte_swx_pipeline_port_out_type_register(pipeline, "port", ports->out);
//@ if kind == clone
	struct rte_swx_pipeline_mirroring_params copying = { .n_slots = clones, .n_sessions = 1 };

	rte_swx_pipeline_mirroring_config(pipeline, &copying);
//@ end
	status = rte_swx_pipeline_port_in_config(pipeline, 0, "port", ports->in_arguments);
	if (!status)
		status = rte_swx_pipeline_port_out_config(pipeline, 0, "port",
							  ports->out_arguments);
	if (status)
		return refuse("no ports: %s", strerror(-status));
	status = spec_build(pipeline, path);
//@ if kind == clone
	if (!status) {
		struct rte_swx_pipeline_mirroring_session_params session = {
			.truncation_length = bytes,
		};

		status = rte_swx_ctl_pipeline_mirroring_session_set(pipeline, 0, &session);
	}
//@ end
	return status;
}
