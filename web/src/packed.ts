/** Numbers as the document packs them: base64 of little-endian single-precision numbers. Nothing is an empty list. */
export function floats(text: string): Float32Array {
  const packed = bytes(text);
  const view = new DataView(packed.buffer);
  const list = new Float32Array(packed.length / 4);
  for (let i = 0; i < list.length; i++) list[i] = view.getFloat32(4 * i, true);
  return list;
}

/** Attributions: single-precision numbers without their lowest byte. */
export function attributions(text: string): Float32Array {
  const packed = bytes(text);
  const view = new DataView(new ArrayBuffer(4));
  const list = new Float32Array(packed.length / 3);
  for (let i = 0; i < list.length; i++) {
    for (let k = 0; k < 3; k++) view.setUint8(k + 1, packed[3 * i + k]);
    list[i] = view.getFloat32(0, true);
  }
  return list;
}

/** Bits, eight to a byte, the lowest first. */
export function bits(text: string): (at: number) => boolean {
  const packed = bytes(text);
  return (at) => (((packed[at >> 3] ?? 0) >> (at & 7)) & 1) === 1;
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
