"""Small PDF and DOCX files, written by hand."""

import io
import zipfile

CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DOCUMENT = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    f' xmlns:r="{OFFICE}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body>{}</w:body></w:document>'
)
PICTURE = (
    '<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="p" descr="A map"/><a:graphic><a:graphicData><pic:pic>'
    '<pic:blipFill><a:blip r:embed="p1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
    "</w:drawing></w:r></w:p>"
)


def pdf(*pages: str, encrypted: bool = False) -> bytes:
    """A page for each text, of 300 by 200 points."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        content = f"BT /F1 18 Tf 20 150 Td ({text}) Tj ET"
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {len(objects) + 2} 0 R /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    trailer = f"/Size {len(objects) + 2} /Root 1 0 R"
    if encrypted:
        password = f"<{'5a' * 32}>"
        objects.append(f"<< /Filter /Standard /V 1 /R 2 /O {password} /U {password} /P -4 >>")
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    table = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{rows}"
    return out + f"{table}trailer\n<< {trailer} >>\nstartxref\n{len(out)}\n%%EOF".encode()


def docx(body: str, picture: bytes = b"", **parts: str | bytes) -> bytes:
    """A document with this text, given as XML where it begins with a bracket. parts: more files, by their names."""
    words = body if body.startswith("<") else f"<w:p><w:r><w:t>{body}</w:t></w:r></w:p>"
    main = f'<Relationship Id="m" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'
    shown = f'<Relationship Id="p1" Type="{OFFICE}/image" Target="media/p.png"/>'
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": RELATIONS.format(main),
        "word/document.xml": DOCUMENT.format(words + (PICTURE if picture else "")),
        "word/_rels/document.xml.rels": RELATIONS.format(shown),
        **({"word/media/p.png": picture} if picture else {}),
        **parts,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return out.getvalue()
