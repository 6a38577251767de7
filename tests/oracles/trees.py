"""Oracle of the balanced split."""

import numpy as np


def unit(v):
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def discount(position):
    return 1.0 / np.log2(1.0 + position)


def ideal_dcg(v):
    ordered = np.sort(v)[::-1]
    return float(np.sum(ordered * discount(np.arange(1, len(v) + 1))))


def discounts_of_ranking(weights):
    """Discount of every coordinate when ranked by weight; those without share the last rank."""
    order = np.lexsort((np.arange(len(weights)), -weights))
    order = order[weights[order] > 0]
    result = np.full(len(weights), discount(len(order) + 1))
    result[order] = discount(np.arange(1, len(order) + 1))
    return result


def split(Z, n_left, first, second, *, ndcg, tol, max_iter):
    """One balanced split of the rows of dense Z; gives the left side and the objective's trace."""
    left_sum, right_sum = Z[first], Z[second]
    trace = []
    side = None
    for _ in range(max_iter):
        if ndcg:
            direction = discounts_of_ranking(left_sum) - discounts_of_ranking(right_sum)
        else:
            direction = unit(left_sum) - unit(right_sum)
        scores = Z @ direction
        order = np.lexsort((np.arange(len(Z)), -scores))
        new_side = np.zeros(len(Z), dtype=bool)
        new_side[order[:n_left]] = True
        if side is not None and np.array_equal(side, new_side):
            break
        side = new_side
        left_sum, right_sum = Z[side].sum(axis=0), Z[~side].sum(axis=0)
        if ndcg:
            value = left_sum @ discounts_of_ranking(left_sum)
            value += right_sum @ discounts_of_ranking(right_sum)
        else:
            value = np.linalg.norm(left_sum) + np.linalg.norm(right_sum)
        trace.append(value / len(Z))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * trace[-1]:
            break
    return side, trace
