"""Types of the JSON document that `slowpath config show` writes."""

from typing import TypedDict

from slowpath.core.schema import Document


class ConfigSetting(TypedDict):
    """A setting, its value and the origin of the value."""

    key: str
    """Key as in the settings file. Keys of requirements are `require.` and the glob."""
    value: str | int | float | None
    """Value of the option; null if nothing sets it."""
    origin: str | None
    """`command line`, the name of an environment variable, or FILE:LINE. Null if nothing sets the
    value."""


class ConfigDocument(Document):
    """Output of `slowpath config show --format json`."""

    file: str | None
    """The settings file; null if there is none."""
    results: list[ConfigSetting]
    """All settings, those without a value as well."""
