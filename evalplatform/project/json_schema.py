"""The published JSON Schema of the project file, which editors use to complete and check it while it is written.

After a change of the schema: `python -m evalplatform.project.json_schema > docs/evalplatform.schema.json`.
"""

import json
import sys

from evalplatform.project.schema import ProjectFile


def json_schema_text() -> str:
    """Return the schema as it stands in docs/evalplatform.schema.json."""
    return json.dumps(ProjectFile.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json_schema_text())
