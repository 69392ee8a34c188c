/** Numbers and counts as people write them. */

const minus = "−";
const gap = "\u00a0"; // keeps a number and its unit on one line

/** Words from elsewhere, with numbers and units kept together. */
export function kept(text: string): string {
  return text.replace(/ %/g, `${gap}%`);
}

export function count(n: number, noun: string): string {
  return `${thousands(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function thousands(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number with few digits, whole ones with all of theirs. */
export function number(v: number, digits = 4): string {
  if (!Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  let text: string;
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) text = v.toExponential(Math.max(0, digits - 2));
  else if (Number.isInteger(v) && size < 1e7) text = String(v);
  else if (size >= 10 ** digits) text = String(Math.round(v));
  else text = String(Number(v.toPrecision(digits)));
  return text.replace("-", minus).replace(/^(−?)(\d{5,})/, (_, sign: string, whole: string) => sign + thousands(Number(whole)));
}

/** A number of the table, as it is written there unless that is long. */
export function cell(v: number): string {
  const full = String(v);
  return full.length <= 8 ? full : String(Number(v.toPrecision(6)));
}

/** Writes the numbers of one row with the same number of decimals, so that they can be added up by eye. */
export function decimalsFor(largest: number): (v: number) => string {
  const magnitude = largest > 0 ? Math.floor(Math.log10(largest)) : 0;
  if (magnitude < -6 || magnitude > 8) return (v) => v.toExponential(2).replace("-", minus);
  const decimals = Math.max(0, 2 - magnitude);
  return (v) => {
    const text = v.toFixed(decimals);
    return (Number(text) === 0 ? (0).toFixed(decimals) : text).replace("-", minus).replace(/^(−?)(\d{5,})/, (_, sign: string, whole: string) => sign + thousands(Number(whole)));
  };
}

export function signed(text: string): string {
  return text.startsWith(minus) || /^[0.]*$/.test(text) ? text : "+" + text;
}

/** A share, never said to be nothing or all of it when it is only little or much. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  if (share > 0 && share < 0.001) return `under 0.1${gap}%`;
  if (share < 1 && share > 0.999) return `over 99.9${gap}%`;
  if (share < 0 && share > -0.0005) return `0${gap}%`;
  const digits = share !== 0 && share !== 1 && (share < 0.1 || share > 0.9) ? 1 : 0;
  return `${(100 * share).toFixed(digits).replace("-", minus)}${gap}%`;
}

/** A share with a tenth of a per cent, so that shares beside each other can be compared. */
export function tenths(share: number): string {
  const text = (100 * share).toFixed(1);
  return share < 1 && share > 0.999 ? percent(share) : `${(Number(text) === 0 ? "0.0" : text).replace("-", minus)}${gap}%`;
}

/** The share that an interval holds, as 95 % or 99.7 %. */
export function level(share: number): string {
  return `${Number((100 * share).toPrecision(3))}${gap}%`;
}

/** A probability, never said to be 0 or 1. */
export function chance(p: number): string {
  if (!Number.isFinite(p)) return "?";
  if (p < 0.001) return "under 0.001";
  if (p > 0.999) return "over 0.999";
  return p.toFixed(p < 0.0995 || p > 0.9005 ? 3 : 2);
}

/** What a step in log odds does to the odds. */
export function oddsFactor(logOdds: number): string {
  return `odds ${logOdds < 0 ? "÷" : "×"} ${factor(Math.abs(logOdds))}`;
}

/** By what odds are multiplied where log odds are added. */
export function factor(logOdds: number): string {
  const times = Math.exp(logOdds);
  return times < 10 ? times.toFixed(2) : thousands(times);
}

export function shorten(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : letters.slice(0, Math.max(1, most - 1)).join("") + "…";
}

/** A time in seconds since 1970, without the parts that are 0. */
export function moment(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const text = new Date(1000 * seconds).toISOString().replace("T", " ").replace(/(\.0+)?Z$/, "");
  return text.replace(/ 00:00:00(\.000)?$/, "").replace(/:00$/, "");
}

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** A date such as 2026-11-17 in words. */
export function day(date: string): string {
  const [year, month, ofMonth] = date.split("-").map(Number);
  return `${ofMonth}${gap}${months[month - 1]}${gap}${year}`;
}

export function list(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** How long something took, as people say it. */
export function lasting(seconds: number): string {
  if (seconds < 100) return `${number(seconds, 2)}${gap}s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)}${gap}min`;
  if (seconds < 72 * 3600) return `${number(seconds / 3600, 2)}${gap}h`;
  return `${number(seconds / 86400, 2)}${gap}days`;
}

/** A size of files, by powers of 1,000. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  for (; n >= 1000 && at + 1 < units.length; at++) n /= 1000;
  return `${number(n, 3)}${gap}${units[at]}`;
}
