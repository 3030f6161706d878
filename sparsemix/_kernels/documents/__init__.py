"""Documents under fixed topics: their inference, the tables it reads, sums by word, the memory of rows."""
