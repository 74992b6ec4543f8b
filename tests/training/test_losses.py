"""The losses push energies the right way, and equal their formulas."""

import pytest
import torch

from napari_celis.training.losses import LOSSES, difference_loss, linear_loss, log_loss


@pytest.mark.parametrize("name", ["difference", "log", "linear"])
@pytest.mark.parametrize("y", [0.7, -0.7])
def test_a_bad_merge_raises_the_energy_after_it_and_lowers_the_one_before(name, y):
    before, after = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    LOSSES[name](before, after, torch.tensor([y])).backward()
    # Gradient descent moves against the gradient.
    assert torch.sign(-after.grad).item() == (1 if y > 0 else -1)
    assert torch.sign(-before.grad).item() == (-1 if y > 0 else 1)


def test_losses_equal_their_formulas():
    logits, y = torch.tensor([-1.0, 0.3, 2.0]), torch.tensor([0.5, -2.0, 1.0])
    a = torch.sigmoid(logits)
    expected = -y.abs() * torch.where(y > 0, torch.log(a), torch.log(1 - a))
    torch.testing.assert_close(log_loss(logits, y), expected)
    torch.testing.assert_close(linear_loss(logits, y), -y * a)
    before = torch.tensor([0.2, -0.4, 1.0])
    b = torch.sigmoid(before)
    torch.testing.assert_close(LOSSES["linear"](before, logits, y), (-y * a + y * b).mean())
    change = torch.sigmoid(logits - before)
    expected = -y.abs() * torch.where(y > 0, torch.log(change), torch.log(1 - change))
    torch.testing.assert_close(difference_loss(before, logits, y), expected.mean())
