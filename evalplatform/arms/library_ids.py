"""Which library a documentation service is asked about (treatment-arms spec, section 2)."""

from evalplatform.arms.kind import ArmBuildContext
from evalplatform.kernel.errors import ArmSpecError, nearest_name


def service_library(context: ArmBuildContext, *, spec: str) -> str:
    """Return the library for a service's search: an id with a leading slash, or `owner/name` for the service to look up.

    The order: the id given for the run (`--context7-id`), then the product registry's, then a qualified product name. It depends on the run
    alone, so all arms of one run ask about one library.

    Raises:
        ArmSpecError: the product is registered without an id, or is not registered and unqualified, or there is no product.
    """
    if context.context7_id is not None:
        return _library_id(context.context7_id, field="--context7-id")
    product = context.product
    if product is None:
        raise ArmSpecError(
            "asks a documentation service, but the run has no product; give --product or --context7-id.", field=f"arm spec {spec!r}"
        )
    if product in context.library_ids:
        registered = context.library_ids[product]
        if registered is None:
            raise ArmSpecError(
                f"is registered without a library id, which {spec!r} needs; add one or give --context7-id.", field=f"product {product}"
            )
        return _library_id(registered, field=f"product {product}: library id")
    if "/" not in product.strip("/"):
        raise ArmSpecError(
            f"is neither registered nor qualified as owner/name, so {spec!r} cannot tell which library is meant; give --context7-id.",
            field=f"product {product}",
            nearest=nearest_name(product, context.library_ids),
        )
    return product.strip("/")


def _library_id(text: str, *, field: str) -> str:
    trimmed = text.strip().strip("/")
    if "/" not in trimmed:
        raise ArmSpecError(f"{text!r} is no library id; it has the form owner/name or owner/name/version.", field=field)
    return f"/{trimmed}"
