"""Errors a person can act on: each message says what came, what was wanted, and the way out."""


class CelisError(Exception):
    """Something the user can put right; the message is shown as it is, without a traceback."""


class VolumeError(CelisError):
    """A file or array cannot be used as a volume."""


class MissingDatasetError(VolumeError):
    """A path, or a dataset inside it, does not exist."""


class AmbiguousDatasetError(VolumeError):
    """A file holds several volumes and none was named."""


class CorruptFileError(VolumeError):
    """A file is truncated, damaged, or not what its name says."""


class LabelsError(VolumeError):
    """An array cannot serve as labels: floats, negative ids, nothing but background."""


class ShapeMismatchError(VolumeError):
    """Two volumes that belong together differ in shape."""


class NotEnoughMemoryError(CelisError):
    """The work needs more memory than the machine has free."""


class MissingExtraError(CelisError):
    """An optional library is not installed."""


class SpecError(CelisError):
    """A descriptor spec cannot be used: its box, region, stride or offsets do not fit."""


class ActionError(CelisError):
    """An operation on supervoxels that cannot be done; the state is as it was before."""


class EnergyError(CelisError):
    """The energy model returned something that is not an energy."""


class ModelError(CelisError):
    """A network cannot be built, loaded or used as asked."""


class TrainingError(CelisError):
    """The training data or settings leave nothing to learn from."""
