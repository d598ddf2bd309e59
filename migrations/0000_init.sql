CREATE TABLE "accept_key" (
	"owner_id" text NOT NULL,
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"message_id" uuid NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "accept_key_owner_id_scope_key_pk" PRIMARY KEY("owner_id","scope","key")
);
--> statement-breakpoint
CREATE TABLE "agent" (
	"id" uuid PRIMARY KEY NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"source" text NOT NULL,
	"card_url" text NOT NULL,
	"card" jsonb NOT NULL,
	"fetched_at" timestamp with time zone DEFAULT now() NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"missing_since" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "agent_source" (
	"url" text PRIMARY KEY NOT NULL,
	"fetched_at" timestamp with time zone DEFAULT now() NOT NULL,
	"fresh_until" timestamp with time zone NOT NULL,
	"error" text
);
--> statement-breakpoint
CREATE TABLE "call" (
	"id" uuid PRIMARY KEY NOT NULL,
	"conversation_id" uuid NOT NULL,
	"intention_id" uuid NOT NULL,
	"step" integer NOT NULL,
	"ord" integer NOT NULL,
	"agent_id" uuid NOT NULL,
	"agent" text NOT NULL,
	"message_id" uuid NOT NULL,
	"task_id" text,
	"context_id" text,
	"reference_task_ids" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"state" text NOT NULL,
	"answers" uuid,
	"attempts" integer DEFAULT 0 NOT NULL,
	"polls" integer DEFAULT 0 NOT NULL,
	"wake_at" timestamp with time zone,
	"lease_by" text,
	"lease_until" timestamp with time zone,
	"deadline" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	"fingerprint" text,
	"stale_fingerprint" text,
	"last_look_at" timestamp with time zone,
	"last_poke_at" timestamp with time zone,
	"cancel" text,
	"cancel_attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "call_state" CHECK ("call"."state" in ('planned', 'sending', 'working', 'input_required', 'auth_required', 'unknown', 'resumed', 'completed', 'failed', 'canceled', 'rejected'))
);
--> statement-breakpoint
CREATE TABLE "call_attempt" (
	"call_id" uuid NOT NULL,
	"attempt" integer NOT NULL,
	"token" uuid,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"outcome" text,
	"error" text,
	CONSTRAINT "call_attempt_call_id_attempt_pk" PRIMARY KEY("call_id","attempt")
);
--> statement-breakpoint
CREATE TABLE "conversation" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"title" text NOT NULL,
	"next_seq" bigint DEFAULT 1 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "file" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"name" text NOT NULL,
	"media_type" text NOT NULL,
	"size" integer NOT NULL,
	"sha256" text NOT NULL,
	"bytes" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "intention" (
	"id" uuid PRIMARY KEY NOT NULL,
	"conversation_id" uuid NOT NULL,
	"status" text NOT NULL,
	"parallel" boolean DEFAULT false NOT NULL,
	"step" integer DEFAULT 0 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"lease_by" text,
	"lease_until" timestamp with time zone,
	"wake_at" timestamp with time zone,
	"deadline" timestamp with time zone NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "intention_status" CHECK ("intention"."status" in ('queued', 'planning', 'calling', 'input_required', 'auth_required', 'answered', 'failed', 'canceled', 'expired'))
);
--> statement-breakpoint
CREATE TABLE "message" (
	"conversation_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"id" uuid NOT NULL,
	"intention_id" uuid NOT NULL,
	"moved_to" uuid,
	"step" integer,
	"ord" integer,
	"role" text NOT NULL,
	"type" text,
	"agent" text,
	"to_agent" text,
	"reason" text,
	"call_id" uuid,
	"content" text NOT NULL,
	"parts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"usage" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "message_conversation_id_seq_pk" PRIMARY KEY("conversation_id","seq")
);
--> statement-breakpoint
ALTER TABLE "accept_key" ADD CONSTRAINT "accept_key_conversation_id_conversation_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."conversation"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "call" ADD CONSTRAINT "call_conversation_id_conversation_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."conversation"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "call" ADD CONSTRAINT "call_intention_id_intention_id_fk" FOREIGN KEY ("intention_id") REFERENCES "public"."intention"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "call_attempt" ADD CONSTRAINT "call_attempt_call_id_call_id_fk" FOREIGN KEY ("call_id") REFERENCES "public"."call"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "intention" ADD CONSTRAINT "intention_conversation_id_conversation_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."conversation"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "message" ADD CONSTRAINT "message_conversation_id_conversation_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."conversation"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "agent_name" ON "agent" USING btree ("namespace","name");--> statement-breakpoint
CREATE INDEX "agent_source_url" ON "agent" USING btree ("source");--> statement-breakpoint
CREATE UNIQUE INDEX "call_place" ON "call" USING btree ("intention_id","step","ord");--> statement-breakpoint
CREATE INDEX "call_conversation" ON "call" USING btree ("conversation_id");--> statement-breakpoint
CREATE UNIQUE INDEX "call_live_task" ON "call" USING btree ("agent_id","task_id") WHERE "call"."task_id" is not null and "call"."state" in ('sending', 'working', 'input_required', 'auth_required');--> statement-breakpoint
CREATE INDEX "call_due" ON "call" USING btree ("wake_at") WHERE "call"."wake_at" is not null;--> statement-breakpoint
CREATE INDEX "conversation_owner" ON "conversation" USING btree ("owner_id","updated_at");--> statement-breakpoint
CREATE INDEX "file_conversation" ON "file" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "intention_conversation" ON "intention" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "intention_due" ON "intention" USING btree ("wake_at") WHERE "intention"."wake_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "message_id" ON "message" USING btree ("id");--> statement-breakpoint
CREATE INDEX "message_intention" ON "message" USING btree ("intention_id","seq");--> statement-breakpoint
CREATE INDEX "message_moved" ON "message" USING btree ("moved_to","seq") WHERE "message"."moved_to" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "message_one_query" ON "message" USING btree ("intention_id","step","ord") WHERE "message"."type" = 'query';--> statement-breakpoint
CREATE UNIQUE INDEX "message_one_question" ON "message" USING btree ("call_id","type","agent") WHERE "message"."type" in ('input_required', 'auth_required');--> statement-breakpoint
CREATE UNIQUE INDEX "message_one_result" ON "message" USING btree ("call_id") WHERE "message"."type" in ('answer', 'error');--> statement-breakpoint
CREATE UNIQUE INDEX "message_one_final" ON "message" USING btree ("intention_id") WHERE "message"."role" = 'assistant';