"""How good a segmentation is: metrics, the tables behind them, and the expert that follows the truth."""
