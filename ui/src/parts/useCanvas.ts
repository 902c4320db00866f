// A canvas that is as sharp as the screen: drawn again when its size, the theme or what it shows changes.
import { useEffect, useRef } from "preact/hooks";
import { isDark } from "../design/theme";

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

export function useCanvas(draw: Draw, inputs: readonly unknown[]) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = isDark.value;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const paint = () => {
      const { clientWidth: width, clientHeight: height } = element;
      if (!width || !height) return;
      element.width = Math.round(width * devicePixelRatio);
      element.height = Math.round(height * devicePixelRatio);
      const context = element.getContext("2d")!;
      context.scale(devicePixelRatio, devicePixelRatio);
      draw(context, width, height);
    };
    paint();
    const observer = new ResizeObserver(paint);
    observer.observe(element);
    return () => observer.disconnect();
  }, [dark, ...inputs]);
  return canvas;
}
