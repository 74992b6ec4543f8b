"""The tab Decisions: the queue of merges to look at, one decision in detail, and the history."""
