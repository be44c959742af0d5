/* Prints, for each file, OK or the line and reason of the error that DPDK's reader reports. */
#define ALLOW_EXPERIMENTAL_API

#include <stdio.h>

#include <rte_swx_pipeline.h>

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* DPDK crashes on some files */
	for (int i = 1; i < argc; i++) {
		FILE *spec = fopen(argv[i], "r"), *code = fopen("/dev/null", "w");
		const char *why = "it says nothing";
		uint32_t line = 0;

		if (!spec || !code)
			return 2;
		if (rte_swx_pipeline_codegen(spec, code, &line, &why))
			printf("%s %u: %s\n", argv[i], line, why);
		else
			printf("%s OK\n", argv[i]);
		fclose(spec);
		fclose(code);
	}
	return 0;
}
