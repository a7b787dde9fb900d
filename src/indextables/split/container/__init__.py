"""The container of a split: its layout, the names of its members, their checksums and Bloom filters."""
