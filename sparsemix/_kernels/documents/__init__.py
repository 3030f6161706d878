"""Documents under fixed topics: their inference, the tables it reads, sums by word, what is remembered of rows."""
