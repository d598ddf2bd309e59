// The agent that plans a day in Beijing, telling the stops in its status messages while it works. Effects: time.

import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, isChinese } from './agent.ts';

/** Between two stops: long enough to be seen, short enough not to be waited for. */
const pauseMs = 150;

const stops = {
  zh: ['先去故宫', '再去长城', '再去颐和园'],
  en: ['First the Forbidden City', 'Then the Great Wall', 'Then the Summer Palace'],
} as const;

export const travel: Agent = {
  card: {
    name: 'travel',
    description: 'Plans trips: travel routes and sightseeing itineraries for Beijing. 旅游规划：推荐北京的旅游路线和景点行程。',
    streaming: true,
    pushNotifications: false,
    skills: [
      {
        id: 'itinerary',
        name: 'Travel plan 旅游路线',
        description: 'Which sights to visit, in which order. 去哪里玩，先去哪个景点。',
        tags: ['travel', 'trip', 'itinerary', '旅游', '旅行', '行程'],
        examples: ['推荐北京旅游路线', '北京有什么好玩的', 'Plan a trip to Beijing', 'Recommend an itinerary for a day in Beijing'],
      },
    ],
  },
  async *answer({ text, signal }) {
    const [first, second, last] = stops[isChinese(text) ? 'zh' : 'en'];
    yield { kind: 'working', text: first };
    await pause(pauseMs, undefined, { signal });
    yield { kind: 'working', text: second };
    await pause(pauseMs, undefined, { signal });
    yield { kind: 'completed', text: last };
  },
};
