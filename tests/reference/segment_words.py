"""The list of segments, their names and notes, as one would keep them on paper."""


class Paper:
    """One slip of paper for every supervoxel; segments are sets of ids."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.names, self.notes = {}, {}

    def order(self, segment, label):
        """The slips of a segment: that which names it, then larger ones before smaller, then by id."""
        return sorted(segment, key=lambda one: (one != label, -self.sizes[one], one))

    def name(self, segment, label):
        written = [self.names[one] for one in self.order(segment, label) if self.names.get(one)]
        return written[0] if written else ""

    def note(self, segment, label):
        found = []
        for one in self.order(segment, label):
            text = self.notes.get(one, "")
            if text and text not in found:
                found.append(text)
        return "; ".join(found)

    def write(self, segment, label, name, note):
        """Write on the slip that names the segment, and wipe the others, if it reads otherwise."""
        if name != self.name(segment, label):
            for one in segment:
                self.names[one] = name if one == label else ""
        if note != self.note(segment, label):
            for one in segment:
                self.notes[one] = note if one == label else ""


def counts(segment, steps):
    """Decisions about a segment, all and by hand."""
    own = [step for step in steps if {step.u_id, step.v_id} & set(segment)]
    return len(own), sum(step.kind != "greedy" for step in own)


def state(segment, steps, done):
    """Done if somebody said so, in work if somebody decided about it, else untouched."""
    if segment in done:
        return "done"
    return "in work" if counts(segment, steps)[1] else "untouched"
