"""Every check of the doctor's, in the order in which it speaks."""

from evalplatform.cli.checkup.alerts import look_at_mail, look_at_webhook
from evalplatform.cli.checkup.endpoints import look_at_endpoints, look_at_web_app
from evalplatform.cli.checkup.findings import Check
from evalplatform.cli.checkup.secrets import look_at_secrets
from evalplatform.cli.checkup.settings import look_at_entitlements, look_at_variables, look_at_versions
from evalplatform.cli.checkup.stores import look_at_database, look_at_disks, look_at_links, look_at_storage
from evalplatform.cli.orchestration.checks import look_at_dagster

CHECKS = (
    Check("environment", look_at_variables),
    Check("versions", look_at_versions),
    Check("storage", look_at_storage),
    Check("download links", look_at_links),
    Check("database", look_at_database),
    Check("disk", look_at_disks),
    Check("dagster", look_at_dagster),
    Check("endpoints", look_at_endpoints),
    Check("web app", look_at_web_app),
    Check("secrets", look_at_secrets),
    Check("mail", look_at_mail),
    Check("webhook", look_at_webhook),
    Check("entitlements", look_at_entitlements),
)
