"""Measures paths of pipelines in DPDK's interpreter."""
