
static uint32_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)seed * below >> 32;
}

enum { ROUNDS = 31, BATCH_CYCLES = 200000, MOST = 1 << 20 };

static double time_batch(uint32_t count, int component)
{
	uint64_t start, end, sum;

	start = rte_rdtsc_precise();
	sum = component ? run(count, 1) : run(count, 0);
	keep(sum);
	end = rte_rdtsc_precise();
//@ if pipeline
	count = passed; /* a pipeline may process more packets than requested */
//@ end
	return (double)(end - start) / count;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *times)
{
	qsort(times, ROUNDS, sizeof(times[0]), ascending);
	return times[ROUNDS / 2];
}

/* Prints medians of batches with and without the component in turns, after twice as many packets as
 * touch all data. */
static void measure(long value, int visit, long touched)
{
	double with[ROUNDS], without[ROUNDS], trial;
	uint32_t count;

	for (long left = 2 * touched; left > 0; left -= 1000)
		time_batch(1000, 1);
	trial = time_batch(64, 1);
	trial = time_batch(256, 1);
	count = trial < 1 ? BATCH_CYCLES : BATCH_CYCLES / trial;
	count = count < 16 ? 16 : count;
	for (int round = 0; round < ROUNDS; round++) {
		if (chance(2)) {
			with[round] = time_batch(count, 1);
			without[round] = time_batch(count, 0);
		} else {
			without[round] = time_batch(count, 0);
			with[round] = time_batch(count, 1);
		}
	}
//@ if pipeline
	if (check()) {
		printf("error %ld %s\n", value, wrong);
		return;
	}
//@ end
	printf("sample %ld %d %.17g %.17g\n", value, visit, median(with), median(without));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t order[COUNT];
	uint64_t end;
	int used = rte_eal_init(argc, argv), visits;

	if (used < 0 || argc - used < 4)
		return 2;
//@ if pipeline
	if (argc - used < 5)
		return 2;
	folder = argv[used + 4];
//@ end
	visits = atoi(argv[used + 2]);
	seed = atoi(argv[used + 3]);
	end = rte_rdtsc() + atof(argv[used + 1]) * rte_get_tsc_hz();
	printf("hz %lu\n", rte_get_tsc_hz());
	for (size_t i = 0; i < COUNT; i++)
		order[i] = i;
	for (int visit = 1; visit <= visits || rte_rdtsc() < end; visit++) {
		for (size_t i = COUNT; i > 1; i--) {
			size_t other = chance(i), kept = order[i - 1];

			order[i - 1] = order[other];
			order[other] = kept;
		}
		for (size_t i = 0; i < COUNT; i++) {
			${swept} = values[order[i]];
			wrong[0] = 0;
			if (make_packets() || set_up())
				printf("error %ld %s\n", values[order[i]],
				       wrong[0] ? wrong : rte_strerror(rte_errno));
			else
				measure(values[order[i]], visit, touched());
			tear_down();
			rte_free(packets);
		}
		printf("visit %d\n", visit);
		fflush(stdout);
	}
	rte_eal_cleanup();
	return 0;
}
