	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + ${size} > end)
		return XDP_ABORTED;
