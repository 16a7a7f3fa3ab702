"""Reports as text."""
def text(report):
    return "\n".join(f"{t.name}: {t.status} {t.unchecked or ''}\n" + "\n".join(f"  {f.severity} {f.name} [{f.argument}] {f.message}\n     {f.cause}" for f in t.findings) for t in report.targets)
def html_fragment(report):
    return f"<pre>{text(report)}</pre>"
