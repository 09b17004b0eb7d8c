// Trains by the wasm module and draws every epoch. `?backend=flex` stays on the CPU, `?seed=3` starts otherwise,
// `?epochs=30` ends early.
import init, { Training } from "./pkg/sparse_example_web.js";

const MEMBERS = 34;
const LEADERS = [0, MEMBERS - 1];
const options = new URLSearchParams(location.search);
const EPOCHS = Number(options.get("epochs") ?? 100);
const at = (id) => document.getElementById(id);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The name of a GPU that WebGPU offers, or null. */
async function gpu() {
  if (options.get("backend") === "flex") return null;
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (!adapter) return null;
  const { vendor, architecture, device, description } = adapter.info;
  return description || [vendor, architecture, device].filter(Boolean).join(" ") || "unnamed";
}

/** A canvas in pixels of the screen. Returns its context and its size in pixels of the page. */
function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const draw = canvas.getContext("2d");
  draw.scale(scale, scale);
  draw.font = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
  return { draw, width, height };
}

/** A line by epochs, with four lines of a grid below it. */
function curve(canvas, list, top, label) {
  const { draw, width, height } = prepare(canvas);
  const [left, right, bottom, above] = [44, 8, 20, 8];
  const x = (epoch) => left + ((epoch - 1) / (EPOCHS - 1)) * (width - left - right);
  const y = (value) => height - bottom - (value / top) * (height - bottom - above);
  draw.fillStyle = color("--faint");
  draw.strokeStyle = color("--grid");
  draw.textBaseline = "middle";
  draw.textAlign = "right";
  for (let k = 0; k <= 4; k++) {
    const value = (top * k) / 4;
    draw.beginPath();
    draw.moveTo(left, Math.round(y(value)) + 0.5);
    draw.lineTo(width - right, Math.round(y(value)) + 0.5);
    draw.stroke();
    draw.fillText(label(value), left - 6, y(value));
  }
  draw.textBaseline = "alphabetic";
  for (const epoch of [1, Math.round(EPOCHS / 2), EPOCHS]) {
    draw.textAlign = epoch === EPOCHS ? "right" : "center";
    draw.fillText(String(epoch), x(epoch), height - 4);
  }
  if (!list.length) return;
  draw.strokeStyle = color("--side0");
  draw.lineWidth = 2;
  draw.lineJoin = "round";
  draw.beginPath();
  list.forEach((value, k) => draw.lineTo(x(k + 1), y(Math.min(value, top))));
  draw.stroke();
  draw.fillStyle = color("--side0");
  draw.beginPath();
  draw.arc(x(list.length), y(Math.min(list.at(-1), top)), 4, 0, 2 * Math.PI);
  draw.fill();
}

/** The members, their ties, and where the network changes its mind. */
function plane(canvas, training, members) {
  const { draw, width, height } = prepare(canvas);
  const pad = 24;
  const x = (value) => width / 2 + value * (width / 2 - pad);
  const y = (value) => height / 2 - value * (height / 2 - pad);
  // The logits are linear in the plane: three members tell the difference of the two everywhere.
  const side = boundary(members);
  if (side) {
    const areas = [color("--area0"), color("--area1")];
    for (let row = 0; row < height; row++) {
      // In each row of pixels the network changes its mind at most once.
      const b = (height / 2 - row) / (height / 2 - pad);
      const [left, right] = [-1, 1].map((end) => side((end * width) / (width - 2 * pad), b));
      const share = left * right < 0 ? left / (left - right) : 1;
      draw.fillStyle = areas[left > 0 ? 1 : 0];
      draw.fillRect(0, row, share * width, 1);
      draw.fillStyle = areas[right > 0 ? 1 : 0];
      draw.fillRect(share * width, row, (1 - share) * width, 1);
    }
  }
  draw.strokeStyle = color("--tie");
  draw.lineWidth = 1;
  draw.beginPath();
  for (let k = 0; k < training.ties.length; k += 2) {
    const [a, b] = [members[training.ties[k]], members[training.ties[k + 1]]];
    draw.moveTo(x(a.x), y(a.y));
    draw.lineTo(x(b.x), y(b.y));
  }
  draw.stroke();
  members.forEach((member, k) => {
    const leads = LEADERS.includes(k);
    draw.fillStyle = color(`--side${training.sides[k]}`);
    draw.strokeStyle = color("--card");
    draw.lineWidth = 2;
    draw.beginPath();
    draw.arc(x(member.x), y(member.y), leads ? 11 : 6, 0, 2 * Math.PI);
    draw.fill();
    draw.stroke();
    if (!leads) return;
    draw.fillStyle = "#ffffff";
    draw.textAlign = "center";
    draw.textBaseline = "middle";
    draw.fillText(String(k + 1), x(member.x), y(member.y) + 0.5);
  });
}

/** The members along their two main axes (PCA), each stretched to [-1, 1]. The first leader stays on the left. */
function spread(members) {
  const mean = (f) => members.reduce((sum, member) => sum + f(member), 0) / members.length;
  const [a, b] = [mean(({ x }) => x), mean(({ y }) => y)];
  const angle = Math.atan2(2 * mean(({ x, y }) => (x - a) * (y - b)), mean(({ x, y }) => (x - a) ** 2 - (y - b) ** 2)) / 2;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const turned = members.map(({ x, y }) => [(x - a) * cos + (y - b) * sin, (y - b) * cos - (x - a) * sin]);
  const sign = turned[LEADERS[0]][0] > turned[LEADERS[1]][0] ? -1 : 1;
  const most = [0, 1].map((axis) => Math.max(...turned.map((place) => Math.abs(place[axis])), 1e-9));
  return members.map(({ logits }, k) => ({ logits, x: (sign * turned[k][0]) / most[0], y: (sign * turned[k][1]) / most[1] }));
}

/** The difference of the logits as a function of the plane, by least squares. Null while all members are on a line. */
function boundary(members) {
  const sums = Array.from({ length: 3 }, () => [0, 0, 0, 0]);
  for (const { x, y, logits } of members) {
    const row = [x, y, 1, logits[1] - logits[0]];
    for (let i = 0; i < 3; i++) for (let j = 0; j < 4; j++) sums[i][j] += row[i] * row[j];
  }
  for (let i = 0; i < 3; i++) {
    if (Math.abs(sums[i][i]) < 1e-6) return null;
    for (let k = 0; k < 3; k++) {
      if (k === i) continue;
      const factor = sums[k][i] / sums[i][i];
      for (let j = i; j < 4; j++) sums[k][j] -= factor * sums[i][j];
    }
  }
  const [a, b, c] = [0, 1, 2].map((i) => sums[i][3] / sums[i][i]);
  return (x, y) => a * x + b * y + c;
}

const frame = () => new Promise((next) => requestAnimationFrame(next));

/** Trains, and draws every epoch. */
async function run(training) {
  const graph = { sides: training.sides(), ties: training.ties() };
  const [losses, accuracies] = [[], []];
  const draw = (members) => {
    curve(at("loss"), losses, 0.8, (value) => value.toFixed(1));
    curve(at("accuracy"), accuracies, 1, (value) => `${Math.round(100 * value)}%`);
    plane(at("plane"), graph, members);
  };
  let [busy, members] = [0, []];
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    const start = performance.now();
    const [loss, ...numbers] = await training.epoch();
    // The first epoch compiles the kernels.
    if (epoch > 1) busy += performance.now() - start;
    members = spread(Array.from({ length: MEMBERS }, (_, k) => {
      const [x, y, ...logits] = numbers.slice(4 * k, 4 * k + 4);
      return { x, y, logits };
    }));
    const right = members.filter(({ logits }, k) => !LEADERS.includes(k) && (logits[1] > logits[0]) === (graph.sides[k] === 1));
    losses.push(loss);
    accuracies.push(right.length / (MEMBERS - LEADERS.length));
    at("epoch").textContent = `${epoch} of ${EPOCHS}`;
    if (epoch > 1) at("time").textContent = `${(busy / (epoch - 1)).toFixed(1)} ms`;
    at("loss-now").textContent = loss.toFixed(3);
    at("accuracy-now").textContent = `${right.length} of ${MEMBERS - LEADERS.length}`;
    draw(members);
    await frame();
  }
  const again = () => draw(members);
  window.onresize = again;
  matchMedia("(prefers-color-scheme: dark)").onchange = again;
  return { losses, accuracies, milliseconds: busy / (EPOCHS - 1) };
}

/** What a test reads. */
const report = (result) => { window.result = result; };

try {
  const [adapter] = await Promise.all([gpu(), init()]);
  const backend = adapter === null ? "the CPU (Flex)" : `WebGPU (${adapter})`;
  at("backend").textContent = backend;
  let seed = Number(options.get("seed") ?? 0);
  let training = await Training.start(adapter !== null, seed);
  report({ backend, ...(await run(training)) });
  at("again").disabled = false;
  at("again").onclick = async () => {
    at("again").disabled = true;
    training = await training.again(++seed);
    await run(training);
    at("again").disabled = false;
  };
} catch (error) {
  at("backend").textContent = `nothing: ${error}`;
  report({ error: String(error.stack ?? error) });
}
