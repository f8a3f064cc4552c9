/* The playground's steps: a slider that shows the merge row by row, and buttons that copy commands. Without scripts,
   the drawing moves once and then shows the whole merge. */

const stepper = document.querySelector(".stepper");
const drawing = document.querySelector(".lanes > svg");

if (stepper && drawing) {
  const slider = stepper.querySelector("input");
  const shown = stepper.querySelector(".move");
  const moves = [...document.querySelectorAll(".moves > ol > li")];
  const [first, step] = [Number(stepper.dataset.first), Number(stepper.dataset.step)];
  /* Chromium has a timeline for each svg element, and other browsers have one for the outermost. */
  const timelines = [drawing, ...drawing.querySelectorAll("svg")];
  let timer = 0;

  const words = () => {
    const move = moves[slider.value - 1];
    shown.replaceChildren(...[...move.cloneNode(true).childNodes]);
    slider.setAttribute("aria-valuetext", move.textContent.replace(/\s+/g, " ").trim());
  };

  /* Shows the heads of a step before one of them is taken. Reduced motion hides the film only while it moves. */
  const show = () => {
    words();
    drawing.classList.add("stepped");
    for (const one of timelines) {
      one.pauseAnimations();
      one.setCurrentTime(first + (slider.value - 1 + 0.2) * step);
    }
  };

  const stop = () => {
    clearInterval(timer);
    timer = 0;
  };

  slider.addEventListener("input", () => {
    stop();
    show();
  });

  stepper.querySelector("button").addEventListener("click", () => {
    if (timer) return stop();
    slider.value = 1;
    show();
    timer = setInterval(() => {
      if (slider.value === slider.max) return stop();
      slider.value = Number(slider.value) + 1;
      show();
    }, 700);
  });

  words();
  stepper.hidden = false;
}

for (const button of document.querySelectorAll(".copy")) {
  const name = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.closest("li").querySelector("pre").textContent);
    button.textContent = button.dataset.done;
    setTimeout(() => (button.textContent = name), 2000);
  });
  button.hidden = !navigator.clipboard;
}
