"""The tab Blocks: volumes that do not fit into memory, with `celis blockwise` in a process of its own."""
