"""The tab Data: what to work on, and with which model."""
