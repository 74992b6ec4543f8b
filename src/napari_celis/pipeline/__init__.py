"""From chosen volumes to a ready agglomerator: one recipe for command line, panel and benchmarks."""
