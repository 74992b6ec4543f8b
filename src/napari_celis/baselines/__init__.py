"""What CELIS is compared with: other ways to agglomerate the same supervoxels."""
