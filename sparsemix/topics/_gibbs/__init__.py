"""GibbsLDA: chains and their samples."""
