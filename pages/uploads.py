"""``/photo-uploads``: creates upload forms for the scripts of the comment form.

With an upload form, which the server signs, a browser sends a photo directly to the bucket.
"""

from starlette.responses import JSONResponse, Response

from pages.page_request import PageRequest
from pages.sessions import require_own


async def create(request: PageRequest) -> Response:
    """Return an upload form for each media type in the field ``types``.

    The visitor is signed in, or the field ``grant`` has the JWT of a link. If there are too
    many types, or one is not the type of a photo, the list of forms is empty.
    """
    fields = await request.form()
    if "grant" in fields:
        request = await request.opened_by_link(fields["grant"])
    else:
        require_own(request.session, fields)
    given = {"contentTypes": fields.get("types", "").split(",")}
    result = await request.run("photo.uploads", input=given)
    uploads = result.data["createPhotoUploads"]["uploads"]
    return JSONResponse(uploads, headers={"Cache-Control": "no-store"})
