import importlib.metadata
from pathlib import Path

import muster


def test_the_package_has_a_version():
    assert muster.__version__.count(".") == 2


def test_the_installed_metadata_names_the_same_version():
    assert importlib.metadata.version("muster") == muster.__version__


def test_the_package_is_typed():
    package = Path(muster.__file__).parent
    assert (package / "py.typed").exists()
    assert "version: str" in (package / "_core.pyi").read_text()
