"""The weighted area under the curve, one pair of examples at a time."""


def weighted_auc(score, y):
    """Share of the weight of all pairs of a wrong (y > 0) and a right one (y < 0) that are in order.

    A pair weighs the product of its weights, and half of it counts when both score the same.
    """
    in_order = total = 0.0
    for wrong, y_wrong in zip(score, y, strict=True):
        for right, y_right in zip(score, y, strict=True):
            if y_wrong > 0 > y_right:
                total += y_wrong * -y_right
                in_order += y_wrong * -y_right * ((wrong > right) + 0.5 * (wrong == right))
    return in_order / total if total else float("nan")
