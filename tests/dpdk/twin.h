/* A source linked with DPDK itself: what `turn` says of each `TURN` bytes that come. */
#include <stdio.h>
#include <rte_eal.h>
int main(void)
{
	char *words[] = {"twin", "--no-huge", "--no-pci", "-m", "512", "-l", "0", "--no-shconf", "--log-level=1", NULL};
	uint8_t bytes[TURN];

	if (rte_eal_init(RTE_DIM(words) - 1, words) < 0)
		return 1;
	start();
	while (fread(bytes, TURN, 1, stdin) == 1)
		printf("%d\n", turn(bytes));
	return 0;
}
