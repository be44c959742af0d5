
//@ include ../../../../measure/pipelines/spec.h

static int build(struct side *side, const char *what)
{
	char path[PATH];
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
