"""C2: a posterior whose spread is wrong by a constant factor keeps the rate of linear Thompson sampling."""
