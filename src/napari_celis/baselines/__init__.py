"""What CELIS is compared with: other ways to agglomerate the same supervoxels.

`compare.compare` runs them. May import `pipeline` and what lies below it.
"""
