"""Where experiments were measured, as their directories say it; these may be of others."""

from typing import cast

from slowpath.cli.errors import InputError
from slowpath.experiments.results.folder import ExperimentFolder
from slowpath.measurements.environment import Environment
from slowpath.schema.json_schema import schema
from slowpath.schema.shapes import ShapeError, check_shape


def environments_of(folder: ExperimentFolder) -> list[Environment]:
    """Where an experiment was measured, for each block; without records of another form.

    No figure follows from it, so that a page without it is as good.
    """
    try:
        found = folder.environments()
    except InputError:
        return []
    return [cast("Environment", one) for one in found if _is_environment(one)]


def _is_environment(record: object) -> bool:
    definitions = schema("measure")["$defs"]
    try:
        check_shape(record, definitions["Environment"], definitions, "environment")
    except ShapeError:
        return False
    return True
