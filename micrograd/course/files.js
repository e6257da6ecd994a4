// The files inside this page by name: compressed bytes. (Safari cannot read a Blob of a page opened
// from disk in a worker.)

export function filesOfPage() {
  const files = {};
  for (const element of document.querySelectorAll("script.file")) {
    files[element.dataset.name] = bytesOf(element.textContent);
    element.remove(); // its text is as large as the file
  }
  return files;
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}
