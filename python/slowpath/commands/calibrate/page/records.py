"""Where experiments were measured, as their directories say it; these may be of others."""

from typing import cast

from slowpath.cli.errors import InputError
from slowpath.experiments.results.folder import ExperimentFolder
from slowpath.measurements.environment import Environment
from slowpath.schema.json_schema import schema
from slowpath.schema.shapes import ShapeError, check_shape


def environment_of(folder: ExperimentFolder) -> Environment | None:
    """Where an experiment was measured; None where nothing was, or the record is of another form.

    No figure follows from it, so that a page without it is as good.
    """
    document = schema("measure")
    try:
        found = folder.environment()
        definitions = document["$defs"]
        check_shape(found, definitions["Environment"], definitions, "environment")
    except (InputError, ShapeError):
        return None
    return cast("Environment", found)
