ALTER TABLE "agent" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "agent" ADD COLUMN "down_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "agent" ADD COLUMN "deduplicates" boolean;--> statement-breakpoint
ALTER TABLE "agent" ADD COLUMN "probed_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "call" ADD COLUMN "cancel_outcome" text;--> statement-breakpoint
CREATE INDEX "accept_key_conversation" ON "accept_key" USING btree ("conversation_id");