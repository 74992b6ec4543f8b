import pytest
import torch

from napari_celis.core.errors import ModelError, NotEnoughMemoryError
from napari_celis.models.device import available_devices, choose_device, explained_memory

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2 GiB",
        "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
        "DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes.",
        "MPS backend out of memory (MPS allocated: 1 GB)",
    ],
)
def test_too_little_memory_is_said_with_a_way_out(words):
    with (
        pytest.raises(NotEnoughMemoryError, match=r"`cpu` ran out of memory\. Buy some\."),
        explained_memory(CPU, "Buy some."),
    ):
        raise RuntimeError(words)


def test_other_errors_pass_as_they_are():
    with pytest.raises(RuntimeError, match="illegal memory access"), explained_memory(CPU, "Buy some."):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_a_device_that_is_not_there_is_refused_by_name():
    assert choose_device("auto").type == available_devices()[0]
    assert choose_device("cpu") == CPU
    with pytest.raises(ModelError, match="not a device"):
        choose_device("abacus")
    with pytest.raises(ModelError, match="not there"):
        choose_device("cuda:99")
