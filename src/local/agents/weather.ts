// The agent that tells the weather, and asks back when no place is named. Pure.

import { type Agent, isChinese } from './agent.ts';
import { placeIn } from './cities.ts';

/** Invented, fixed for a place, so that a repeated question gets the same answer. */
const reports = [
  ['很热', 'It is very hot in'],
  ['晴朗，气温二十五度', 'It is sunny and 25 °C in'],
  ['多云，有微风', 'It is cloudy with a light breeze in'],
  ['有小雨，记得带伞', 'It is raining lightly, take an umbrella, in'],
  ['凉爽，气温十五度', 'It is cool and 15 °C in'],
  ['有大风', 'It is very windy in'],
] as const;

export const weather: Agent = {
  card: {
    name: 'weather',
    description: 'Tells the weather and temperature of a city; asks for the city if none is named. 查询城市的天气和气温。',
    streaming: true,
    pushNotifications: false,
    skills: [
      {
        id: 'city-weather',
        name: 'City weather 城市天气',
        description: 'Sun, rain, heat or cold in a city. 某个城市天气如何，冷不冷，会不会下雨。',
        tags: ['weather', 'forecast', 'temperature', 'rain', '天气', '气温', '下雨'],
        examples: ['上海天气如何', '天气怎么样', '北京会下雨吗', "What's the weather in Paris?", 'Will it rain in London?'],
      },
    ],
  },
  async *answer({ text }) {
    const chinese = isChinese(text);
    const place = placeIn(text);
    if (!place) {
      yield { kind: 'input_required', text: chinese ? '您问到哪里的天气' : 'Which city?' };
      return;
    }
    yield { kind: 'artifact', name: 'weather', text: chinese ? `${place}天气${report(place)[0]}` : `${report(place)[1]} ${place}` };
    yield { kind: 'completed' };
  },
};

function report(place: string): (typeof reports)[number] {
  if (place === '上海' || place === 'Shanghai') return reports[0];
  const sum = [...place.toLowerCase()].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return reports[sum % reports.length] ?? reports[0];
}
