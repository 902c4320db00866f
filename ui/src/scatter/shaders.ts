// The programs that draw the points. All places of all times lie on the card; a frame is only another offset into them.

const SPREAD = "#define SPREAD 2.6";

export const VERTEX = `#version 300 es
${SPREAD}
precision highp float;
in vec2 from_xy;
in vec2 to_xy;
in float from_usage;
in float to_usage;
in float from_colour;
in float to_colour;
in float flash;
uniform vec4 view;        // scale x, scale y, shift x, shift y
uniform float part;       // how far between the two frames
uniform float size;       // of a point of full usage, in device pixels
uniform float blends;     // 1 where colours are amounts that may be mixed
uniform float flash_share;
uniform sampler2D palette;
out vec4 colour;
out float ring;
void main() {
  // A reborn key is elsewhere at once: it must not seem to travel there.
  float along = flash > 0.5 ? step(0.5, part) : part;
  vec2 place = mix(from_xy, to_xy, along);
  float usage = mix(from_usage, to_usage, along);
  gl_Position = vec4(place * view.xy + view.zw, 0.0, 1.0);
  float index = blends > 0.5 ? mix(from_colour, to_colour, along) : to_colour;
  vec4 base = texelFetch(palette, ivec2(int(floor(index * 255.0 + 0.5)), 0), 0);
  float lit = flash > 0.5 ? flash_share : 0.0;
  ring = lit;
  colour = vec4(mix(base.rgb, vec3(1.0), lit * 0.8), base.a);
  gl_PointSize = max(3.0, size * SPREAD * (0.45 + 0.55 * usage) * (1.0 + 0.9 * lit));
}`;

export const FRAGMENT = `#version 300 es
${SPREAD}
precision highp float;
in vec4 colour;
in float ring;
uniform float opacity;
out vec4 result;
void main() {
  float at = length(gl_PointCoord - 0.5) * 2.0;
  float core = 1.0 - smoothstep(0.8 / SPREAD, 1.1 / SPREAD, at);
  float glow = 0.42 * pow(max(0.0, 1.0 - at), 2.4);
  float circle = ring * (1.0 - smoothstep(0.02, 0.09, abs(at - 0.86)));
  float alpha = max(max(core, glow) * colour.a * opacity, circle);
  if (alpha < 0.004) discard;
  // The middle of a star is a little whiter than its rim.
  vec3 shade = mix(colour.rgb, vec3(1.0), 0.3 * (1.0 - smoothstep(0.0, 0.8 / SPREAD, at)));
  result = vec4(shade * alpha, alpha);
}`;

/** Where keys have come from: their paths so far, fading with time. */
export const TRAIL_VERTEX = `#version 300 es
precision highp float;
in vec2 xy;
uniform vec4 view;
uniform float time;
uniform int num_points;
out float fade;
void main() {
  gl_Position = vec4(xy * view.xy + view.zw, 0.0, 1.0);
  fade = exp(-0.11 * (time - float(gl_VertexID / num_points)));
}`;

export const TRAIL_FRAGMENT = `#version 300 es
precision highp float;
in float fade;
out vec4 result;
void main() {
  float alpha = 0.38 * fade;
  result = vec4(vec3(0.58, 0.68, 0.86) * alpha, alpha);
}`;
